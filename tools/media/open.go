package media

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
)

const (
	maxPicture = 64 << 20
	maxSound   = 512 << 20
	maxVideo   = 4 << 30

	fetchTimeout = 5 * time.Minute
)

// A source is a file that a tool reads: of the workspace, or from the web.
type source struct {
	studio
	name  string // for the model
	web   bool   // its content is from outside
	size  int64
	at    io.ReaderAt
	close func()
	local string // the path of a copy that programs can read; "" if there is none yet
}

// normalized returns the one file that a call names. Models write URLs as paths.
func normalized(toolName, file, url string) (string, error) {
	switch {
	case file == "" && url == "":
		return "", tool.Errorf(tool.Invalid, `%s: "path" is missing`, toolName).
			Try(`send {"path":"FILE"} or {"url":"https://..."}`)
	case file != "" && url != "" && file != url:
		return "", tool.Errorf(tool.Invalid, "there are a path and a url").Try("send one of them")
	case file == "":
		return url, nil
	}
	return file, nil
}

func isURL(name string) bool {
	scheme, _, found := strings.Cut(name, "://")
	return found && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// open opens a file of at most max bytes by a path, the URI of a generated file or a URL.
func (s studio) open(ctx context.Context, name string, max int64) (*source, error) {
	if isURL(name) {
		return s.fetch(ctx, name, max)
	}
	shown := name
	if strings.HasPrefix(name, generated.Scheme) {
		var err error
		if name, err = generated.PathOf(name); err != nil {
			return nil, err
		}
	}
	file, err := s.Files.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	if file.Size > max {
		file.Close()
		return nil, tooLarge(shown, file.Size, max)
	}
	return &source{studio: s, name: file.Name, size: file.Size, at: file, close: func() { file.Close() }}, nil
}

func tooLarge(name string, size, max int64) error {
	return tool.Errorf(tool.TooLarge, "%q has %s, the maximum is %s", name, text.Bytes(size), text.Bytes(max)).
		Try("make it smaller with a command first")
}

// fetch gets a file from the web.
func (s studio) fetch(ctx context.Context, url string, max int64) (*source, error) {
	answer, err := s.Client.Do(ctx, outbound.Request{
		URL: url, Redirects: maxRedirects, MaxBytes: max, Timeout: fetchTimeout, Polite: true,
	})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.Status != http.StatusOK {
		return nil, tool.Errorf(tool.Unavailable, "%q responded with %d %s", text.Clip(url, 500), answer.Status,
			http.StatusText(answer.Status)).Try("check the URL, or find another one with web_search")
	}
	file, err := private.TempFile(s.Scratch)
	if err != nil {
		return nil, err
	}
	src := &source{
		studio: s, name: answer.URL, web: true, at: file, local: file.Name(), close: func() { private.Discard(file) },
	}
	if src.size, err = io.Copy(file, answer.Body); err != nil {
		src.close()
		if errors.Is(err, outbound.ErrTooLong) {
			return nil, tooLarge(text.Clip(url, 500), max+1, max)
		}
		return nil, err
	}
	return src, nil
}

// head returns the first bytes of the file.
func (s *source) head() ([]byte, error) {
	head := make([]byte, min(s.size, 1024))
	if _, err := s.at.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return head, nil
}

// reader returns a reader of the file.
func (s *source) reader() io.Reader { return io.NewSectionReader(s.at, 0, s.size) }

// file returns the path of a copy of the file. Programs get no file of the workspace
// itself, since it may be replaced after it was checked.
func (s *source) file() (string, error) {
	if s.local != "" {
		return s.local, nil
	}
	copied, err := private.TempFile(s.Scratch)
	if err != nil {
		return "", err
	}
	if _, err := io.Copy(copied, s.reader()); err != nil {
		private.Discard(copied)
		return "", err
	}
	former := s.close
	s.local, s.close = copied.Name(), func() { private.Discard(copied); former() }
	return s.local, nil
}

// content returns the whole file, for a provider.
func (s *source) content(max int64) ([]byte, error) {
	if s.size > max {
		return nil, tooLarge(s.name, s.size, max)
	}
	return io.ReadAll(s.reader())
}

// base returns the name of the file without its directory.
func (s *source) base() string {
	name, _, _ := strings.Cut(s.name, "?")
	return path.Base(filepath.ToSlash(name))
}

// quote returns text that comes from the file, between marks if the file is from outside.
func (s *source) quote(what, content string) string {
	if s.web {
		return s.Marks.Quote(what+" of "+s.name, content)
	}
	clean, _ := tool.Clean(content)
	return clean
}

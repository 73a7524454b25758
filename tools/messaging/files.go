package messaging

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
)

const (
	// maxTextFile is the size of a file with text that is sent, in bytes: all of it is searched
	// for secrets in memory.
	maxTextFile = 16 << 20
	// maxFileName is the length of the name of a file, in bytes.
	maxFileName = 120
)

// open opens a file of the caller to send it. A file with text is sent without its secrets; masked
// says that it had some. The caller closes the file after it was put into the outbox.
func (x message) open(ctx context.Context, name, as string) (f chat.File, from *workspace.File, masked bool,
	err error) {
	if strings.HasPrefix(name, "http://") || strings.HasPrefix(name, "https://") {
		return f, nil, false, tool.Errorf(tool.Invalid, "%q is a URL", text.Clip(name, 200)).
			Try("download it into the workspace first, or send the URL as text")
	}
	if from, err = x.Files.Open(ctx, name); err != nil {
		return f, nil, false, err
	}
	if f, masked, err = x.masked(from); err != nil {
		from.Close()
		return f, nil, false, err
	}
	f.Name = fileName(as, from.Name)
	return f, from, masked, nil
}

// masked returns the part of a file that is sent.
func (x message) masked(from *workspace.File) (f chat.File, masked bool, err error) {
	if from.Size == 0 {
		return f, false, tool.Errorf(tool.Invalid, "the file %s is empty", from.Name).Try("send another one")
	}
	head := make([]byte, min(from.Size, 64<<10))
	if n, err := from.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) || n < len(head) {
		return f, false, tool.Errorf(tool.Conflict, "the file %s has changed while it was read", from.Name).
			Try("send it again")
	}
	f = chat.File{MIME: mimeOf(from.Name, head), Size: from.Size}
	f.Open = func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(from, 0, from.Size)), nil }
	if !isText(head) {
		return f, false, nil
	}
	if from.Size > maxTextFile {
		return f, false, tool.Errorf(tool.TooLarge, "the file %s has %s of text, which cannot be searched for secrets",
			from.Name, text.Bytes(from.Size)).Try("send a part of at most %s", text.Bytes(maxTextFile))
	}
	content, err := io.ReadAll(io.NewSectionReader(from, 0, from.Size))
	if err != nil {
		return f, false, err
	}
	decoded, _, err := transform.Bytes(unicode.BOMOverride(transform.Nop), content)
	if err != nil {
		return f, false, err
	}
	clean := []byte(x.Scrub(string(decoded)))
	if masked = !bytes.Equal(clean, decoded); !masked {
		clean = content
	}
	f.Size = int64(len(clean))
	f.Open = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(clean)), nil }
	return f, masked, nil
}

// isText reports whether the beginning of a file is text in any encoding.
func isText(head []byte) bool {
	return bytes.IndexByte(head, 0) < 0 || bytes.HasPrefix(head, []byte("\xFE\xFF")) ||
		bytes.HasPrefix(head, []byte("\xFF\xFE"))
}

// mimeOf returns the type of a file, by its name if that says enough, else by its content.
func mimeOf(name string, head []byte) string {
	known := mime.TypeByExtension(path.Ext(name))
	if sniffed := http.DetectContentType(head); known == "" || strings.HasPrefix(sniffed, "image/") {
		known = sniffed
	}
	kind, _, _ := strings.Cut(known, ";")
	return kind
}

// fileName returns the name that a file is sent with.
func fileName(as, name string) string {
	if as == "" {
		as = name
	}
	clean, _ := tool.Clean(path.Base(strings.ReplaceAll(as, `\`, "/")))
	clean = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"<>:|?*`, r) {
			return '_'
		}
		return r
	}, clean)
	if len(clean) > maxFileName {
		ext := path.Ext(clean)
		clean = text.Clip(strings.TrimSuffix(clean, ext), maxFileName-min(len(ext), maxFileName/2)) + ext
	}
	if strings.Trim(clean, ". ") == "" {
		return "file"
	}
	return clean
}

// Package generated saves the output of tools, such as pictures and speech, in the directory
// generated/DATE of the caller's workspace, and shows it to clients: as a link to a resource
// and, if it is small, as image or audio content. It knows names and types of files, and
// nothing of how their contents are made.
//
// Begin with [Files.Save].
package generated

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/picture"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

const (
	dir = "generated"

	maxSaved   = 200 << 20 // bytes of a file
	maxPicture = 32 << 20  // bytes of a picture that is shown scaled
	maxSound   = 1 << 20   // bytes of a sound that is shown
	maxRead    = 16 << 20  // bytes of a file that is read as a resource

	maxStem     = 60 // characters of a name, without its extension
	maxNumbered = 1000
)

// Files saves files in the workspace of the caller in the context.
type Files struct {
	Workspace workspace.Files
	Scrub     func(text string) string // of titles; titles become names; nil leaves them as they are
	Now       func() time.Time
}

// A File is a file that was saved.
type File struct {
	Path string // in the workspace, with slashes
	URI  string // as a resource
	Type        // by its content
	Size int64

	shown []byte // the content, if it is small
}

// Save writes content to a new file, completely or not at all. Its name is made of title, any
// text, and of the type of the content.
func (f Files) Save(ctx context.Context, title string, content io.Reader) (File, error) {
	buffered := bufio.NewReaderSize(content, headSize)
	head, err := buffered.Peek(headSize)
	if err != nil && !errors.Is(err, io.EOF) {
		return File{}, err
	}
	if len(head) == 0 {
		return File{}, tool.Errorf(tool.Unavailable, "the file that was made is empty").Try("try again")
	}
	saved := File{Type: TypeOf(head)}
	keep := &keeper{max: saved.maxShown()}
	in := io.TeeReader(&limited{buffered, maxSaved}, keep)
	if f.Scrub != nil {
		title = f.Scrub(title)
	}
	stem := cmp.Or(stemOf(title), saved.word())
	if err := f.add(ctx, &saved, stem, in); err != nil {
		return File{}, err
	}
	saved.shown = keep.content()
	return saved, nil
}

var errTaken = errors.New("the name is taken")

// add writes a file under the first free name.
func (f Files) add(ctx context.Context, saved *File, stem string, content io.Reader) error {
	day := f.Now().UTC().Format(time.DateOnly)
	for n := 1; n <= maxNumbered; n++ {
		name := stem
		if n > 1 {
			name = fmt.Sprintf("%s-%d", stem, n)
		}
		file := path.Join(dir, day, name+saved.Extension)
		receipt, err := f.Workspace.Change(ctx, []string{file},
			func(now []*workspace.File) ([]workspace.Change, error) {
				if now[0].Exists {
					return nil, errTaken
				}
				return []workspace.Change{{Path: file, Content: content}}, nil
			})
		var known *tool.Error
		switch {
		case errors.Is(err, errTaken):
			continue
		case errors.As(err, &known) && known.Kind == tool.Refused && stem != saved.word():
			// The operator denies files of such names. The content must not be lost.
			return f.add(ctx, saved, saved.word(), content)
		case err != nil:
			return err
		}
		saved.Path, saved.Size = file, receipt.Files[0].Size
		saved.URI = Scheme + (&url.URL{Path: strings.TrimPrefix(file, dir+"/")}).EscapedPath()
		return nil
	}
	return tool.Errorf(tool.Conflict, "%d files of today are named %q with a number", maxNumbered, stem).
		Try("move or delete some of them, or use another title")
}

// stemOf makes a file name of a title: its letters and digits, the rest as hyphens.
func stemOf(title string) string {
	var stem []rune
	gap := false
	for _, c := range title {
		switch {
		case !unicode.IsLetter(c) && !unicode.IsDigit(c) && !unicode.IsMark(c):
			gap = len(stem) > 0
			continue
		case gap:
			stem = append(stem, '-')
		}
		if gap = false; len(stem) >= maxStem {
			break
		}
		stem = append(stem, unicode.ToLower(c))
	}
	if len(stem) > maxStem {
		stem = stem[:maxStem]
	}
	return strings.TrimRight(string(stem), "-")
}

// maxShown returns the size of the largest file of a type that clients are shown.
func (t Type) maxShown() int {
	switch {
	case t.MIME == SVG:
		return 0 // few clients show it
	case strings.HasPrefix(t.MIME, "image/"):
		return maxPicture
	case strings.HasPrefix(t.MIME, "audio/"):
		return maxSound
	}
	return 0
}

// Parts returns the file as parts of a result: a link, and its content if that can be shown.
func (f File) Parts(ctx context.Context) []tool.Part {
	parts := []tool.Part{{URI: f.URI, Name: path.Base(f.Path), MIME: f.MIME}}
	switch {
	case len(f.shown) == 0:
	case strings.HasPrefix(f.MIME, "audio/"):
		parts = append(parts, tool.Part{Data: f.shown, MIME: f.MIME})
	default:
		// A picture that cannot be decoded is not shown. The file exists nevertheless.
		if p, err := picture.Load(ctx, bytes.NewReader(f.shown), int64(len(f.shown))); err == nil {
			parts = append(parts, tool.Part{Data: p.Data, MIME: p.MIME})
		}
	}
	return parts
}

// Result returns the result of a tool that saved f. The content is called what, such as
// "chart".
func (f File) Result(ctx context.Context, what string) tool.Result {
	line := fmt.Sprintf("[%s saved as %s: %s, %s]", what, f.Path, f.Name, text.Bytes(f.Size))
	return tool.Text(line).Add(f.Parts(ctx)...)
}

// Scheme begins the URI of a generated file as a resource.
const Scheme = "generated:///"

// Resource returns a generated file by its URI.
func (f Files) Resource(ctx context.Context, uri string) (tool.Part, error) {
	name, err := PathOf(uri)
	if err != nil {
		return tool.Part{}, err
	}
	file, err := f.Workspace.Open(ctx, name)
	if err != nil {
		return tool.Part{}, err
	}
	defer file.Close()
	if file.Size > maxRead {
		return tool.Part{}, tool.Errorf(tool.TooLarge, "%q has %s, the maximum of a resource is %s", name,
			text.Bytes(file.Size), text.Bytes(maxRead)).Try("get the file from the workspace")
	}
	data := make([]byte, file.Size)
	if _, err := io.ReadFull(io.NewSectionReader(file, 0, file.Size), data); err != nil {
		return tool.Part{}, err
	}
	kind := TypeOf(data[:min(len(data), headSize)])
	if kind.MIME == SVG {
		return tool.Part{URI: uri, Text: string(data), MIME: kind.MIME}, nil
	}
	return tool.Part{URI: uri, Data: data, MIME: kind.MIME}, nil
}

// PathOf returns the path in the workspace of a generated file with a URI.
func PathOf(uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, Scheme)
	name, err := url.PathUnescape(rest)
	if !ok || err != nil || name == "" || path.Join(dir, name) != dir+"/"+name {
		return "", tool.Errorf(tool.NotFound, "%.200q is not a generated file", uri).
			Try("send a URI such as %s2026-01-31/chart.png", Scheme)
	}
	return path.Join(dir, name), nil
}

// A limited reader returns an error if there is more to read than max bytes.
type limited struct {
	r    io.Reader
	left int64
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, tool.Errorf(tool.TooLarge, "the made file has more than %s", text.Bytes(maxSaved)).
			Try("ask for less")
	}
	return n, err
}

// A keeper keeps the written bytes, unless there are more than max.
type keeper struct {
	max, seen int
	kept      bytes.Buffer
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.seen += len(p); k.seen <= k.max {
		k.kept.Write(p)
	} else {
		k.kept = bytes.Buffer{}
	}
	return len(p), nil
}

func (k *keeper) content() []byte { return k.kept.Bytes() }

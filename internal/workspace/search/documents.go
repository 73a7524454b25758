package search

import (
	"context"
	"errors"
	"io"
	"sort"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// Documents has the text of files that are not text, such as PDF. It must be safe for concurrent use.
type Documents interface {
	// Has reports whether a file is a document, by its name.
	Has(name string) bool
	// Text returns the text of a document that has been opened for the caller. The error is [ErrLater] if it takes
	// too long for this search, and an [UnreadError] if it cannot be read.
	Text(ctx context.Context, name string, info root.Info, content io.ReaderAt) (DocumentText, error)
}

// A DocumentText is the text of a document.
type DocumentText struct {
	Text  []byte
	Parts []DocumentPart // in order; none for a document without pages, sheets or chapters
}

// A DocumentPart is a page, a sheet or a chapter.
type DocumentPart struct {
	Line int    // the number of its first line, counted from 1
	Name string // such as page 3
}

// ErrLater means that a document is not converted yet, and that this search converts no more.
var ErrLater = errors.New("not yet converted")

// An UnreadError is the reason why a document cannot be read, as in "a.pdf needs a password".
type UnreadError struct{ Name, Why string }

func (e *UnreadError) Error() string { return e.Why }

// maxFailed is the number of documents whose reason is returned.
const maxFailed = 5

// document searches the text of a document.
func (s *run) document(
	ctx context.Context, w *worker, name string, info root.Info, content io.ReaderAt, enough int, p *page,
) (textResult, error) {
	text, err := s.m.q.Documents.Text(ctx, name, info, content)
	if err != nil {
		return textResult{}, err
	}
	if most := s.m.q.MaxFile; most > 0 && int64(len(text.Text)) > most {
		return textResult{}, errLarge
	}
	got, err := w.text(ctx, memorySource(text.Text), enough, p)
	got.document = true
	if p != nil {
		for i := range p.lines {
			p.lines[i].Part = text.part(p.lines[i].Number)
		}
	}
	return got, err
}

// part returns the name of the part with a line.
func (t DocumentText) part(line int) string {
	i := sort.Search(len(t.Parts), func(i int) bool { return t.Parts[i].Line > line })
	if i == 0 {
		return ""
	}
	return t.Parts[i-1].Name
}

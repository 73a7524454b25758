package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/markdown"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

const (
	// maxConverted and startTime bound the conversions of one search: their number, and the time until the last begins.
	maxConverted = 50
	startTime    = 5 * time.Second
	// convertTime is the time limit of one conversion.
	convertTime = 10 * time.Second
	// maxTexts is the size of the texts in memory, in bytes.
	maxTexts = 64 << 20
	// racyAge is the age of a change from which on the next one has another time, as file systems record times.
	racyAge = 2 * time.Second
)

// texts has the texts of documents that were searched: by their content, and the content by the state of the file.
type texts struct {
	documents *document.Service
	most      int           // documents that one search converts
	within    time.Duration // from the start of a search until the last of these begins
	limit     time.Duration // of one conversion
	byContent *lru.Cache[string, documentText]
	contents  *lru.Cache[root.Info, string] // digests by the states of files
}

// A documentText is the text of a document, or the reason why there is none.
type documentText struct {
	search.DocumentText
	failed string
}

func newTexts(documents *document.Service) *texts {
	return &texts{
		documents: documents, most: maxConverted, within: startTime, limit: convertTime,
		byContent: lru.New[string](maxTexts, func(t documentText) int64 { return int64(len(t.Text)) + 500 }),
		contents:  lru.New[root.Info](100_000, func(string) int64 { return 1 }),
	}
}

// A conversion is the documents of one search. It converts a few that are not known yet.
type conversion struct {
	*texts
	until time.Time

	mu   sync.Mutex
	left int
}

// conversion returns the documents for one search, nil if there are none.
func (t *texts) conversion() search.Documents {
	if t == nil || t.documents == nil {
		return nil
	}
	return &conversion{texts: t, until: time.Now().Add(t.within), left: t.most}
}

// Has implements [search.Documents].
func (c *conversion) Has(name string) bool { return c.documents.Searched(name) }

// Text implements [search.Documents].
func (c *conversion) Text(ctx context.Context, name string, info root.Info, content io.ReaderAt) (
	t search.DocumentText, err error,
) {
	state := info
	state.Links, state.Mode, state.UID, state.GID = 0, 0, 0, 0
	known := info.Ino != 0 && !info.Changed.IsZero() && time.Since(info.Changed) > racyAge
	digest := ""
	if known {
		digest, _ = c.contents.Get(state)
	}
	if digest == "" {
		if info.Size > document.MaxSize {
			return t, &search.UnreadError{Why: "is too large"}
		}
		if digest, err = document.Digest(ctx, content, info.Size); err != nil {
			return t, err
		}
		if known {
			c.contents.Put(state, digest)
		}
	}
	key := digest + path.Ext(name) // the name decides between formats that look alike
	found, ok := c.byContent.Get(key)
	if !ok {
		if found, err = c.convert(ctx, name, info, content, digest); err != nil {
			return t, err
		}
		c.byContent.Put(key, found)
	}
	if found.failed != "" {
		return t, &search.UnreadError{Why: found.failed}
	}
	return found.DocumentText, nil
}

// convert returns the text of a document, or the reason why it has none. The error is of the search.
func (c *conversion) convert(ctx context.Context, name string, info root.Info, content io.ReaderAt, digest string) (
	documentText, error,
) {
	got, err := c.documents.Whole(ctx, document.Request{Name: path.Base(name), Content: content, Size: info.Size},
		digest, c.limit, c.start)
	if err == nil {
		return c.textOf(got), nil
	}
	known, ok := errors.AsType[*document.Error](err)
	switch {
	case ctx.Err() != nil:
		return documentText{}, ctx.Err()
	case errors.Is(err, search.ErrLater):
		return documentText{}, err
	case errors.Is(err, context.DeadlineExceeded):
		return documentText{failed: "takes too long to convert"}, nil
	case !ok:
		return documentText{}, err
	}
	switch known.Kind {
	case document.ErrPassword:
		return documentText{failed: "needs a password"}, nil
	case document.ErrTooBig:
		return documentText{failed: "is too large, or takes too long to convert"}, nil
	case document.ErrNoReader:
		return documentText{failed: "is in a format that cannot be read here"}, nil
	}
	return documentText{failed: "is damaged"}, nil
}

// start decides whether another document is converted by this search.
func (c *conversion) start() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 || time.Now().After(c.until) {
		return search.ErrLater
	}
	c.left--
	return nil
}

// textOf returns the text of a document without Markdown, and where its parts begin.
func (c *conversion) textOf(r document.Reading) documentText {
	var b strings.Builder
	var t documentText
	line := 1
	for _, p := range r.Parts {
		if r.Unit != "" {
			name := fmt.Sprintf("%s %d", r.Unit, p.Number)
			if title := strings.Join(strings.Fields(c.documents.Masked(p.Name)), " "); title != "" {
				name += " " + text.Clip(title, 60)
			}
			t.Parts = append(t.Parts, search.DocumentPart{Line: line, Name: name})
		}
		if plain := markdown.Plain(p.Markdown); plain != "" {
			b.WriteString(plain + "\n")
			line += strings.Count(plain, "\n") + 1
		}
	}
	if t.Text = []byte(b.String()); len(t.Text) == 0 {
		t.failed = "has no text, but may have pictures of it"
	}
	return t
}

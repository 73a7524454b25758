package results

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// readResult is the tool that reads parts of a long result.
type readResult struct {
	store *Store
	marks tool.Marks
}

type readResultArgs struct {
	ID     string `json:"id" jsonschema:"handle in the shortened result" alias:"handle,result_id"`
	Offset int64  `json:"offset,omitempty" jsonschema:"first byte to return"`
	Limit  int    `json:"limit,omitempty" jsonschema:"bytes to return" min:"100" max:"60000" default:"16000"`
	Tail   int    `json:"tail,omitempty" jsonschema:"last lines to return"`
	Grep   string `json:"grep,omitempty" jsonschema:"RE2 pattern that lines must match" alias:"pattern,query"`
	Around int    `json:"around,omitempty" jsonschema:"lines to show around each match" alias:"context"`
}

func (readResult) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_result", Group: group, Title: "Read result", Risk: tool.Reads, Core: true,
		Doc:      "Reads more of a shortened tool result: bytes, last lines or matching lines.",
		Repeats:  true,
		Keywords: "rest of long output next part continue more cut left out truncated",
	}
}

func (t readResult) Do(ctx context.Context, a readResultArgs) (tool.Result, error) {
	owner := tool.CallerFrom(ctx).Principal()
	quote, err := t.quote(ctx, owner, a.ID)
	if err != nil {
		return tool.Result{}, explain(err, a)
	}
	switch {
	case a.Grep != "":
		found, err := t.store.Grep(ctx, owner, a.ID, a.Grep, a.Around, maxLines)
		if err != nil {
			return tool.Result{}, explain(err, a)
		}
		return tool.Text(quote(formatFound(found, a.Grep, a.Limit))), nil
	case a.Tail > 0:
		page, err := t.store.Tail(ctx, owner, a.ID, a.Tail, a.Limit)
		if err != nil {
			return tool.Result{}, explain(err, a)
		}
		return tool.Textf("[bytes %d to %d, the end]\n%s", page.Offset, page.Size, quote(page.Text)), nil
	}
	page, err := t.store.Page(ctx, owner, a.ID, a.Offset, a.Limit)
	if err != nil {
		return tool.Result{}, explain(err, a)
	}
	next := "the end"
	if page.Next < page.Size {
		next = fmt.Sprintf("continue with offset %d", page.Next)
	}
	return tool.Textf("[bytes %d to %d of %d; %s]\n%s", page.Offset, page.Next, page.Size, next, quote(page.Text)), nil
}

// quotedHead is the number of bytes at the beginning of a result are searched
// for a mark of quoted text.
const quotedHead = 8 << 10

// quote returns a function that puts untrusted text between marks. It does so if the whole result had such marks: the
// parts of untrusted text are untrusted too.
func (t readResult) quote(ctx context.Context, owner, id string) (func(text string) string, error) {
	first, err := t.store.Page(ctx, owner, id, 0, quotedHead)
	if err != nil || !tool.Quoted(first.Text) {
		return func(text string) string { return text }, err
	}
	return func(text string) string { return t.marks.Quote("result "+id, text) }, nil
}

// maxLines is the maximum number of matches that one call returns.
const maxLines = 200

// formatFound writes lines like grep -n: with a colon after the number of a match, and a dash after others.
func formatFound(found Found, pattern string, limit int) string {
	if found.Matches == 0 {
		return fmt.Sprintf("no line matches %q", pattern)
	}
	var b strings.Builder
	shown := 0
	for i, line := range found.Lines {
		if b.Len() > limit {
			break
		}
		if i > 0 && line.Number > found.Lines[i-1].Number+1 {
			b.WriteString("--\n")
		}
		mark := "-"
		if line.Match {
			mark = ":"
			shown++
		}
		fmt.Fprintf(&b, "%d%s%s\n", line.Number, mark, line.Text)
	}
	if found.Next < found.Size || shown < found.Matches {
		fmt.Fprintf(&b, "[the first %d matches; there are more: use a narrower pattern]\n", shown)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func explain(err error, a readResultArgs) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "there is no result %q of yours: it has expired, or was removed for later ones",
			a.ID).Try("repeat the call that gave it only if that call changes nothing")
	case errors.Is(err, ErrPattern):
		return tool.Errorf(tool.Invalid, "grep %q: %w", a.Grep, err).
			Try(`write literal characters like \( or \.`)
	}
	return err
}

// maxResource is the maximum size of a result that is read as a resource, in bytes.
const maxResource = 1 << 20

// Resource returns the beginning of the result with a URI, of the caller in ctx.
func (s *Store) Resource(ctx context.Context, uri string) (tool.Part, error) {
	id := strings.TrimPrefix(uri, tool.ResultScheme)
	item, err := s.Get(ctx, tool.CallerFrom(ctx).Principal(), id)
	if err != nil {
		return tool.Part{}, explain(err, readResultArgs{ID: id})
	}
	data, err := io.ReadAll(io.LimitReader(item, maxResource))
	text := strings.ToValidUTF8(string(data), "\uFFFD")
	if left := item.Size() - int64(len(data)); left > 0 {
		text += fmt.Sprintf("\n[%d more bytes: read_result returns them]\n", left)
	}
	return tool.Part{URI: uri, Text: text, MIME: "text/plain"}, closeItem(item, err)
}

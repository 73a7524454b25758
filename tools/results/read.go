package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// readResult pages through a result that was cut.
type readResult struct {
	store Store
	marks tool.Marks
}

type readResultArgs struct {
	ID     string `json:"id" jsonschema:"handle, r_..." alias:"handle,result_id"`
	Offset int64  `json:"offset,omitempty" jsonschema:"first byte"`
	Limit  int    `json:"limit,omitempty" jsonschema:"bytes" min:"100" max:"60000" default:"16000"`
	Tail   int    `json:"tail,omitempty" jsonschema:"last N lines"`
	Grep   string `json:"grep,omitempty" jsonschema:"lines matching this RE2" alias:"pattern,query"`
	Around int    `json:"around,omitempty" jsonschema:"lines around matches" alias:"context"`
}

func (readResult) Spec() tool.Spec {
	return tool.Spec{
		Name: "read_result", Group: group, Title: "Read result", Risk: tool.Reads, Core: true,
		Doc:     "Reads on in a cut result: by byte, tail or matching lines.",
		Repeats: true,
	}
}

func (t readResult) Do(ctx context.Context, a readResultArgs) (tool.Result, error) {
	owner := tool.CallerFrom(ctx).Principal()
	quote, err := t.quote(owner, a.ID)
	if err != nil {
		return tool.Result{}, explain(err, a)
	}
	switch {
	case a.Grep != "":
		found, err := t.store.Grep(ctx, owner, a.ID, a.Grep, a.Around, maxLines)
		if err != nil {
			return tool.Result{}, explain(err, a)
		}
		return tool.Text(quote(list(found, a.Grep, a.Limit))), nil
	case a.Tail > 0:
		page, err := t.store.Tail(owner, a.ID, a.Tail, a.Limit)
		if err != nil {
			return tool.Result{}, explain(err, a)
		}
		return tool.Textf("[bytes %d to %d, the end]\n%s", page.Offset, page.Size, quote(page.Text)), nil
	}
	page, err := t.store.Page(owner, a.ID, a.Offset, a.Limit)
	if err != nil {
		return tool.Result{}, explain(err, a)
	}
	goOn := "the end"
	if page.Next < page.Size {
		goOn = fmt.Sprintf("go on with offset %d", page.Next)
	}
	return tool.Textf("[bytes %d to %d of %d; %s]\n%s", page.Offset, page.Next, page.Size, goOn, quote(page.Text)), nil
}

// beginning is where a result that quotes strangers has its first mark.
const beginning = 8 << 10

// quote puts parts of a result between marks when the whole was: what a stranger
// wrote is no less strange in the middle.
func (t readResult) quote(owner, id string) (func(text string) string, error) {
	first, err := t.store.Page(owner, id, 0, beginning)
	if err != nil || !tool.Quoted(first.Text) {
		return func(text string) string { return text }, err
	}
	return func(text string) string { return t.marks.Quote("result "+id, text) }, nil
}

// maxLines bounds the matches of one answer.
const maxLines = 200

// list writes what was found the way grep -n does: a colon marks a match, a
// dash its surroundings.
func list(found Found, pattern string, limit int) string {
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
	if !found.All || shown < found.Matches {
		fmt.Fprintf(&b, "[the first %d matches; there are more: make the pattern narrower]\n", shown)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func explain(err error, a readResultArgs) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tool.Errorf(tool.NotFound, "there is no result %q of yours, or it has expired", a.ID).
			Try("call the tool that made it again")
	case errors.Is(err, ErrPattern):
		return tool.Errorf(tool.Invalid, "grep %q: %w", a.Grep, err).
			Try(`escape what is meant literally, as in \( or \.`)
	}
	return err
}

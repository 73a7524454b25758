package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp/syntax"

	"github.com/mcp-tools/mcp-tools/tools"
)

// readResult pages through a result that was cut.
type readResult struct {
	store Store
}

type readResultArgs struct {
	ID     string `json:"id" jsonschema:"handle from the cut result, r_..." alias:"handle,result_id"`
	Offset int64  `json:"offset,omitempty" jsonschema:"byte to begin at" min:"0"`
	Limit  int    `json:"limit,omitempty" jsonschema:"bytes to return" min:"100" max:"60000" default:"16000"`
	Tail   int    `json:"tail,omitempty" jsonschema:"the last N lines instead" min:"1" max:"10000"`
	Grep   string `json:"grep,omitempty" jsonschema:"only lines that match this regular expression (RE2) instead" alias:"pattern,query"`
	Around int    `json:"around,omitempty" jsonschema:"lines of context around each match" min:"0" max:"20" alias:"context"`
}

func (readResult) Spec() tools.Spec {
	return tools.Spec{
		Name: "read_result", Group: group, Title: "Read a long result", Risk: tools.Reads, Core: true,
		Doc:      "Pages through a result that was cut: from a byte offset, its tail, or the lines that match a pattern. Handles expire.",
		Keywords: "page continue truncated cut output", Repeats: true,
	}
}

func (t readResult) Do(ctx context.Context, a readResultArgs) (tools.Result, error) {
	owner := tools.CallerFrom(ctx).Principal()
	switch {
	case a.Grep != "":
		return t.grep(ctx, owner, a)
	case a.Tail > 0:
		text, total, err := t.store.Tail(owner, a.ID, a.Tail, a.Limit)
		if err != nil {
			return tools.Result{}, explain(err, a)
		}
		return tools.Textf("[the end of %d bytes]\n%s", total, text), nil
	}
	text, total, err := t.store.Page(owner, a.ID, a.Offset, a.Limit)
	if err != nil {
		return tools.Result{}, explain(err, a)
	}
	end := a.Offset + int64(len(text))
	note := fmt.Sprintf("[bytes %d to %d of %d; that is the end]", a.Offset, end, total)
	if end < total {
		note = fmt.Sprintf("[bytes %d to %d of %d; go on with offset %d]", a.Offset, end, total, end)
	}
	return tools.Text(note + "\n" + text), nil
}

func (t readResult) grep(ctx context.Context, owner string, a readResultArgs) (tools.Result, error) {
	text, matches, err := t.store.Grep(ctx, owner, a.ID, a.Grep, a.Around, a.Limit)
	if err != nil {
		return tools.Result{}, explain(err, a)
	}
	if matches == 0 {
		return tools.Textf("no line matches %q", a.Grep), nil
	}
	return tools.Textf("[%d lines match]\n%s", matches, text), nil
}

func explain(err error, a readResultArgs) error {
	var bad *syntax.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return tools.Errorf(tools.NotFound, "there is no result %q of yours, or it has expired", a.ID).
			Try("call the tool that made it again")
	case errors.As(err, &bad):
		return tools.Errorf(tools.Invalid, "grep is no regular expression: %w", bad).
			Try("escape what is meant literally, as in \\( or \\.")
	}
	return err
}

package fs

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// undoChange takes a change back.
type undoChange struct {
	files workspace.Files
	seen  *Seen
}

type undoChangeArgs struct {
	Call string `json:"call" jsonschema:"id of the change" alias:"id,change,change_id,call_id"`
}

func (undoChange) Spec() tool.Spec {
	return tool.Spec{
		Name: "undo", Group: group, Title: "Undo a change", Risk: tool.Writes,
		Doc:  "Takes a change of files back, if they are still as it left them. Undo the undo to redo. See history.",
		Also: []string{"undo_edit", "revert"}, Keywords: "restore revert redo recover",
	}
}

func (t undoChange) Do(ctx context.Context, a undoChangeArgs) (tool.Result, error) {
	receipt, err := t.files.Undo(ctx, strings.TrimSpace(a.Call))
	if err != nil {
		return tool.Result{}, err
	}
	caller := tool.CallerFrom(ctx)
	lines := make([]string, 0, len(receipt.Files)+1)
	for _, c := range receipt.Files {
		// The session asked for what is there now, and does not know it.
		t.seen.Note(caller, c.Name, "")
		lines = append(lines, showUndone(c))
	}
	if receipt.ID != "" {
		lines = append(lines, "redo with call "+receipt.ID)
	}
	return tool.Text(strings.Join(lines, "\n")), nil
}

func showUndone(c workspace.Changed) string {
	line := fmt.Sprintf("restored %s (%s)", c.Name, size(c.Size))
	if c.Removed {
		line = "removed " + c.Name
	} else if c.Created {
		line = fmt.Sprintf("brought back %s (%s)", c.Name, size(c.Size))
	}
	if len(c.Notes) > 0 {
		line += ": " + strings.Join(c.Notes, "; ")
	}
	return line
}

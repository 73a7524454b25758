package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryForget removes documents, and brings them back.
type memoryForget struct{ memories Memories }

type memoryForgetArgs struct {
	Key    string `json:"key,omitempty" jsonschema:"key of the memory" alias:"name"`
	Path   string `json:"path,omitempty" jsonschema:"path, instead of key" alias:"file,file_path"`
	Query  string `json:"query,omitempty" jsonschema:"remove up to 20 with these words" alias:"q"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"only list the memories"`
	Undo   bool   `json:"undo,omitempty" jsonschema:"restore the former version"`
}

func (memoryForget) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_forget", Group: group, Title: "Forget", Risk: tool.Writes,
		Doc: `Removes memories, or undoes the last change of one. Returns the removed memories.
To correct a memory use memory_store.`,
		Also:     []string{"tool::memory_forget", "memory_delete", "forget"},
		Keywords: "delete remove erase forget undo restore stored about me fact memory",
	}
}

func (t memoryForget) Do(ctx context.Context, a memoryForgetArgs) (tool.Result, error) {
	path := strings.TrimSpace(a.Path)
	if path == "" {
		path = strings.TrimSpace(a.Key)
	}
	query := strings.TrimSpace(a.Query)
	switch {
	case path != "" && query != "":
		return tool.Result{}, tool.Errorf(tool.Invalid, "both a key and a query were sent").Try("send one of them")
	case path == "" && (query == "" || a.Undo):
		return tool.Result{}, tool.Errorf(tool.Invalid,
			"no memory was named").Try(`send its key or path, as in {"key": "..."}`)
	case a.Undo && a.DryRun:
		return tool.Result{}, tool.Errorf(tool.Invalid, "undo has no dry run").
			Try("send undo without dry_run; a second undo reverts the first")
	case a.Undo:
		d, err := t.memories.Undo(ctx, path)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Textf("%s is as it was before, now version %d; a second undo reverts this", tool.Visible(d.Path),
			d.Version), nil
	}
	removed, err := t.memories.Forget(ctx, Forget{Path: path, Query: query, DryRun: a.DryRun})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showForgotten(removed, a)), nil
}

func showForgotten(removed []Document, a memoryForgetArgs) string {
	if len(removed) == 0 {
		return fmt.Sprintf("no memory of yours contains all the words of %q", clipBetween(a.Query, " \t\r\n"))
	}
	var b strings.Builder
	verb := "forgot"
	if a.DryRun {
		verb = "would forget"
	}
	for _, d := range removed {
		first, _, _ := strings.Cut(strings.TrimSpace(d.Text), "\n")
		fmt.Fprintf(&b, "%s %s (version %d): %s\n", verb, tool.Visible(d.Path), d.Version,
			oneLine(clipBetween(first, " \t\r\n")))
	}
	if !a.DryRun {
		b.WriteString("[send undo: true with a path to restore it]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

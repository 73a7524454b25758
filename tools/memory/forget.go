package memory

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryForget removes documents, and brings them back.
type memoryForget struct{ memory Memory }

type memoryForgetArgs struct {
	Key    string `json:"key,omitempty" jsonschema:"of one memory" alias:"name"`
	Path   string `json:"path,omitempty" jsonschema:"or its path" alias:"file,file_path"`
	Query  string `json:"query,omitempty" jsonschema:"or words: all that have every one" alias:"q"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"only tell which"`
	Undo   bool   `json:"undo,omitempty" jsonschema:"take back the last change of a path"`
}

func (memoryForget) Spec() tool.Spec {
	return tool.Spec{
		Name: "memory_forget", Group: group, Title: "Forget", Risk: tool.Writes,
		Doc:      "Forgets memories. Former versions are kept for undo.",
		Also:     []string{"tool::memory_forget", "memory_delete", "forget"},
		Keywords: "delete remove undo restore",
	}
}

func (t memoryForget) Do(ctx context.Context, a memoryForgetArgs) (tool.Result, error) {
	path := name(a.Path, a.Key)
	query := strings.TrimSpace(a.Query)
	switch {
	case path != "" && query != "":
		return tool.Result{}, tool.Errorf(tool.Invalid, "a key and a query were given").Try("send one of them")
	case path == "" && (query == "" || a.Undo):
		return tool.Result{}, tool.Errorf(tool.Invalid, "no memory was named").Try("send its key or path, as in {\"key\": \"...\"}")
	case a.Undo && a.DryRun:
		return tool.Result{}, tool.Errorf(tool.Invalid, "undo cannot be tried").Try("send it without dry_run; a second undo takes the first back")
	case a.Undo:
		d, err := t.memory.Undo(ctx, path)
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Textf("%s is as it was before, now version %d; a second undo takes this back", tool.Visible(d.Path), d.Version), nil
	}
	gone, err := t.memory.Forget(ctx, Forget{Path: path, Query: query, Try: a.DryRun})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(showForgotten(gone, a)), nil
}

func showForgotten(gone []Document, a memoryForgetArgs) string {
	if len(gone) == 0 {
		return fmt.Sprintf("no memory of yours has all the words of %q", short(a.Query))
	}
	var b strings.Builder
	verb := "forgot"
	if a.DryRun {
		verb = "would forget"
	}
	for _, d := range gone {
		first, _, _ := strings.Cut(strings.TrimSpace(d.Text), "\n")
		fmt.Fprintf(&b, "%s %s (version %d): %s\n", verb, tool.Visible(d.Path), d.Version, oneLine(short(first)))
	}
	if !a.DryRun {
		b.WriteString("[undo: true with the path brings one back]\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

package web

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// memoryFiles are files in memory, of which only Change is used.
type memoryFiles struct {
	workspace.Files
	texts map[string]string
}

func (d memoryFiles) Change(
	_ context.Context, paths []string, plan func([]*workspace.File) ([]workspace.Change, error),
) (workspace.Receipt, error) {
	_, exists := d.texts[paths[0]]
	changes, err := plan([]*workspace.File{{Name: paths[0], Exists: exists}})
	if err != nil {
		return workspace.Receipt{}, err
	}
	text, err := io.ReadAll(changes[0].Content)
	d.texts[changes[0].Path] = string(text)
	return workspace.Receipt{Files: []workspace.Changed{{Name: changes[0].Path}}}, err
}

func TestAddNumbersNames(t *testing.T) {
	d := memoryFiles{texts: map[string]string{}}
	f := WorkspaceFiles{Workspace: d}
	var names []string
	for _, path := range []string{"a/file.bin", "a/file.bin", "a/file.bin", "b/post", "b/post"} {
		name, err := f.Add(t.Context(), path, strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if want := []string{"a/file.bin", "a/file-2.bin", "a/file-3.bin", "b/post", "b/post-2"}; !slices.Equal(names, want) {
		t.Errorf("the names are %q", names)
	}
	if name, err := f.Save(t.Context(), "a/file.bin", strings.NewReader("new")); err != nil || name != "a/file.bin" || d.texts[name] != "new" {
		t.Errorf("saved %q: %v", name, err)
	}
	for range maxNumbered - 3 {
		if _, err := f.Add(t.Context(), "a/file.bin", strings.NewReader("")); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Add(t.Context(), "a/file.bin", strings.NewReader("")); tool.AsError(err).Kind != tool.Conflict {
		t.Errorf("one more than the maximum: %v", err)
	}
}

package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// TestSearchWithIndex creates a workspace that is large enough for an index, and checks
// that results are the same with and without it.
func TestSearchWithIndex(t *testing.T) {
	w, ctx, dir := workspacetest.New(t, func(o *workspace.Options) { o.IndexMemory = 256 << 20 })
	const many = 2100
	for i := range many {
		write(t, filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%10, i)), fmt.Sprintf("word%d\n", i))
	}
	find := func(pattern string) search.Found {
		t.Helper()
		found, err := w.Search(ctx, search.Query{Pattern: pattern, Path: ".", Mode: search.Content, Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if got := lines(find("word77$")); got != "d7/f77.txt:1" {
		t.Errorf("cold: %s", got)
	}
	if !w.Settle(ctx) {
		t.Skip("there can be no index here")
	}
	if got := lines(find("word77$")); got != "d7/f77.txt:1" {
		t.Errorf("warm: %s", got)
	}
	if found := find("nowhere"); found.Searched != many || len(found.Files) > 0 {
		t.Errorf("nothing found in %d files, want %d", found.Searched, many)
	}
	write(t, filepath.Join(dir, "d7/f77.txt"), "another\n")
	write(t, filepath.Join(dir, "new.txt"), "word77\n")
	if err := os.Remove(filepath.Join(dir, "d8/f78.txt")); err != nil {
		t.Fatal(err)
	}
	if got := lines(find("word77$|word78$|another")); got != "d7/f77.txt:1 new.txt:1" {
		t.Errorf("after changes: %s", got)
	}
	l, err := w.Glob(ctx, workspace.GlobQuery{Pattern: "**/f7{7,8}.txt", Limit: 10})
	if err != nil || names(l) != "d7/f77.txt" {
		t.Errorf("glob: %s, %v", names(l), err)
	}
}

package media

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs"
)

// TestVersionsAreThoseOfFiles changes a workbook that the session has undone, and one that another replica has shown.
func TestVersionsAreThoseOfFiles(t *testing.T) {
	files, ctx := workspaceWith(t, map[string]string{"book.xlsx": "book"})
	dir := tool.CallerFrom(ctx).Workspace
	shared := &fs.SharedSeen{Store: storetest.Open(t, t.TempDir())}
	replica := func() (Options, []tool.Tool) {
		seen := &fs.Seen{Shared: shared}
		return Options{Files: files, Seen: seen}, fs.Tools(files, nil, seen, nil)
	}
	change := func(o Options) (string, error) {
		res, err := writeDocument{newStudio(o), copier{}}.Do(ctx, writeDocumentArgs{Path: "book.xlsx", Values: json.RawMessage(`{"A1":1}`)})
		return res.Text(), err
	}
	a, tools := replica()
	b, _ := replica()
	text, err := change(a)
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`use undo (\w+)`).FindStringSubmatch(text)
	if id == nil {
		t.Fatalf("no id in %q", text)
	}
	for _, one := range tools {
		if one.Spec.Name == "undo" {
			run, err := one.Bind(json.RawMessage(`{"call":"`+id[1]+`"}`), tool.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Run(ctx); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := change(a); err != nil {
		t.Errorf("after its own undo: %v", err)
	}
	if _, err := change(b); err != nil {
		t.Errorf("after a change by another replica for the same session: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "book.xlsx"), []byte("of another program"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]Options{"the replica that wrote": b, "the other replica": a} {
		if _, err := change(o); tool.AsError(err).Kind != tool.Conflict {
			t.Errorf("%s: %v, want a conflict", name, err)
		}
	}
}

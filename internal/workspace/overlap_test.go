package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/search"
)

// TestDenyInRootsThatOverlap checks that a name in two directories of a caller is denied
// if either denies it, whichever path leads there.
func TestDenyInRootsThatOverlap(t *testing.T) {
	w, ctx, ws := testWorkspace(t, func(o *Options) {
		o.Deny = append(o.Deny, "/secret.txt", "/lib/private.txt")
		o.Roots = []ExtraRoot{{Name: "in", Path: filepath.Join(filepath.Dir(o.Data), "ws", "lib"), Write: true}}
	})
	plant(t, ws, map[string]string{"lib/secret.txt": "HIDDEN", "lib/private.txt": "HIDDEN", "lib/open.txt": "OPEN", "b/": ""})
	for name, link := range map[string]string{"lib/secret.txt": "b/one", "lib/private.txt": "lib/two"} {
		if err := os.Link(filepath.Join(ws, name), filepath.Join(ws, link)); err != nil {
			t.Skip(err)
		}
	}
	for _, dir := range []string{".", "lib", ws + "/lib", "in"} {
		list, err := w.List(ctx, ListQuery{Path: dir, Depth: 5, Limit: 100, Hidden: true, Ignored: true})
		if err != nil {
			t.Fatal(err)
		}
		glob, err := w.Glob(ctx, GlobQuery{Path: dir, Pattern: "**", Limit: 100, Hidden: true, Ignored: true})
		if err != nil {
			t.Fatal(err)
		}
		shown := 0
		for _, e := range append(list.Entries, glob.Entries...) {
			if strings.HasSuffix(e.Name, "secret.txt") || strings.HasSuffix(e.Name, "private.txt") {
				t.Errorf("%s: %q is listed", dir, e.Name)
			}
			shown++
		}
		found, err := w.Search(ctx, search.Query{
			Path: dir, Pattern: "HIDDEN|OPEN", Mode: search.Names, Limit: 100, Hidden: true, Ignored: true,
		})
		if err != nil || len(found.Files) != 1 || !strings.HasSuffix(found.Files[0].Name, "open.txt") || shown < 4 {
			t.Errorf("%s: %+v, %v; %d names are listed", dir, found.Files, err, shown)
		}
	}
	for _, path := range []string{"b/one", "lib/two", "lib/secret.txt", "lib/private.txt"} {
		if text, err := content(ctx, w, path); kindOf(err) != tool.Refused {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	for _, path := range []string{"lib/secre.txt", "lib/privat.txt"} {
		_, err := w.Open(ctx, path)
		if kindOf(err) != tool.NotFound || strings.Contains(err.Error(), "secret.txt") || strings.Contains(err.Error(), "private.txt") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

package memory_test

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

func asContext(c *memory.Change) { c.Category = memory.Context }

// TestContextFilesAreNoMemories checks that methods for memories do not return context files, and that the
// methods and the feed topic for context files do.
func TestContextFilesAreNoMemories(t *testing.T) {
	eachRows(t, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		own := put(t, rows, ada, "SOUL.md", "same", asContext)
		put(t, rows, shared, "SOUL.md", "shared", asContext)
		put(t, rows, bob, "SOUL.md", "bob's", asContext)
		m := put(t, rows, ada, "memory/x.md", "x")
		list, err := rows.List(t.Context(), ada, 10)
		if err != nil || len(list) != 1 || list[0].ID != m.ID {
			t.Errorf("%v, %v", list, err)
		}
		if ids, err := rows.Keys(t.Context(), memory.Scope(ada), "", 10); err != nil || len(ids) != 1 || ids[0] != m.ID {
			t.Errorf("%v, %v", ids, err)
		}
		if _, found, err := rows.ByID(t.Context(), own.ID); found || err != nil {
			t.Errorf("%v, %v", found, err)
		}
		if docs, err := rows.Readable(t.Context(), ada, []string{own.ID, m.ID}); err != nil || len(docs) != 1 {
			t.Errorf("%v, %v", docs, err)
		}
		if paths, err := rows.Duplicates(t.Context(), ada, "same", ""); err != nil || len(paths) != 0 {
			t.Errorf("%v, %v", paths, err)
		}
		files, err := rows.ContextFiles(t.Context(), ada, []string{"SOUL.md", "memory/x.md", "USER.md"})
		if err != nil || len(files) != 2 {
			t.Errorf("%v, %v", files, err)
		}
		if all, err := rows.ContextEntries(t.Context(), "a", 10); err != nil || len(all) != 3 {
			t.Errorf("%v, %v", all, err)
		}
		if all, err := rows.ContextEntries(t.Context(), "b", 10); err != nil || len(all) != 0 {
			t.Errorf("%v, %v", all, err)
		}
		changes, err := s.Changes(t.Context(), store.Cursor{}, 10, memory.ContextTopic)
		if err != nil || len(changes) != 3 || changes[0].Key != own.ID {
			t.Errorf("%v, %v", changes, err)
		}
	})
}

// TestLocateFindsRemovedDocuments checks that Locate returns the owner of a removed document.
func TestLocateFindsRemovedDocuments(t *testing.T) {
	eachRows(t, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		kept, gone := put(t, rows, ada, "memory/x.md", "x"), put(t, rows, bob, "USER.md", "u", asContext)
		if _, found, err := rows.Drop(t.Context(), bob, "USER.md", memory.Author{}); !found || err != nil {
			t.Fatal(err)
		}
		for id, want := range map[string]tool.Owner{kept.ID: ada, gone.ID: bob} {
			if o, path, found, err := rows.Locate(t.Context(), id); o != want || !found || err != nil || path == "" {
				t.Errorf("%v %q, %v, %v", o, path, found, err)
			}
		}
		if _, _, found, err := rows.Locate(t.Context(), "none"); found || err != nil {
			t.Errorf("%v, %v", found, err)
		}
		changes, err := s.Changes(t.Context(), store.Cursor{}, 10, memory.ContextTopic)
		if err != nil || len(changes) != 2 {
			t.Errorf("%v, %v", changes, err)
		}
		if d, found, err := rows.Undo(t.Context(), bob, "USER.md", memory.Author{}); !found || err != nil ||
			d.Category != memory.Context || d.Text != "u" {
			t.Errorf("%+v, %v, %v", d, found, err)
		}
	})
}

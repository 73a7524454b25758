package memory_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// eachLimited runs a test on rows with limits in stores of each engine.
func eachLimited(t *testing.T, limits memory.Limits, f func(t *testing.T, s *store.Store, rows *memory.Rows)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, s, memory.NewRows(s, limits)) })
}

// counted compares the counter of an owner with what there is.
func counted(t *testing.T, s *store.Store, o tool.Owner) (documents, bytes int64) {
	t.Helper()
	err := s.View(t.Context(), func(tx *store.Tx) error {
		var there, length int64
		err := tx.Row(`SELECT count(*), coalesce(sum(octet_length(content)), 0)
			FROM memory WHERE agent = $1 AND usr = $2`, []any{o.Agent, o.User}, &there, &length)
		if err != nil {
			return err
		}
		if err := tx.Row("SELECT documents, bytes FROM memory_owner WHERE agent = $1 AND usr = $2",
			[]any{o.Agent, o.User}, &documents, &bytes); err != nil {
			return err
		}
		if documents != there || bytes != length {
			t.Errorf("%v has %d documents of %d bytes, and %d and %d are counted", o, there, length, documents, bytes)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents, bytes
}

func TestLimitsOfAnOwner(t *testing.T) {
	eachLimited(t, memory.Limits{Documents: 5, Bytes: 100}, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		ctx := t.Context()
		ada, bob := tool.Owner{Agent: "a", User: "ada"}, tool.Owner{Agent: "a", User: "bob"}
		store := func(o tool.Owner, path, text string) error {
			_, _, err := rows.Put(ctx, memory.Change{Owner: o, Path: path, Text: text})
			return err
		}
		refused := func(err error, limit string) {
			t.Helper()
			if e := tool.AsError(err); err == nil || e.Kind != tool.TooLarge || !strings.Contains(e.What, limit) ||
				!strings.Contains(e.Next, "memory_forget") {
				t.Errorf("too much: %v", err)
			}
		}
		for i := range 5 {
			if err := store(ada, fmt.Sprint("memory/", i, ".md"), "ten bytes."); err != nil {
				t.Fatal(err)
			}
		}
		refused(store(ada, "memory/more.md", "x"), "more than 5 memories")
		refused(store(ada, "memory/1.md", strings.Repeat("ä", 31)), "more than 100 bytes")
		if err := store(ada, "memory/1.md", strings.Repeat("ä", 30)); err != nil {
			t.Errorf("exactly as much as there may be: %v", err)
		}
		if err := store(bob, "memory/1.md", strings.Repeat("x", 90)); err != nil {
			t.Errorf("another has room of his own: %v", err)
		}
		if n, bytes := counted(t, s, ada); n != 5 || bytes != 100 {
			t.Errorf("counted are %d, %d", n, bytes)
		}
		if _, _, err := rows.Drop(ctx, ada, "memory/2.md", memory.Author{}); err != nil {
			t.Fatal(err)
		}
		if err := store(ada, "memory/more.md", "x"); err != nil {
			t.Errorf("after one was forgotten: %v", err)
		}
		_, _, err := rows.Undo(ctx, ada, "memory/2.md", memory.Author{})
		refused(err, "more than 5 memories")
		counted(t, s, ada)
		counted(t, s, bob)
	})
}

// TestLimitsHoldUnderConcurrentWrites has two owners write from many goroutines.
func TestLimitsHoldUnderConcurrentWrites(t *testing.T) {
	eachLimited(t, memory.Limits{Documents: 20}, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		owners := []tool.Owner{{Agent: "a", User: "ada"}, {Agent: "a", User: "bob"}}
		var took [2]atomic.Int32
		var all sync.WaitGroup
		for g := range 8 {
			all.Go(func() {
				for i := range 10 {
					which := (g + i) % 2
					_, _, err := rows.Put(t.Context(),
						memory.Change{Owner: owners[which], Path: fmt.Sprintf("memory/%d-%d.md", g, i), Text: "text"})
					if err == nil {
						took[which].Add(1)
					} else if tool.AsError(err).Kind != tool.TooLarge {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		for i, o := range owners {
			if n, _ := counted(t, s, o); n != 20 || took[i].Load() != 20 {
				t.Errorf("%v has %d, and %d were taken", o, n, took[i].Load())
			}
		}
	})
}

// TestExpiredDocumentsDoNotCount writes over what has expired, and has the rest swept.
func TestExpiredDocumentsDoNotCount(t *testing.T) {
	eachLimited(t, memory.Limits{Documents: 2}, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		ctx, ada := t.Context(), tool.Owner{Agent: "a", User: "ada"}
		past := at(time.Now().Add(-time.Hour))
		for _, path := range []string{"memory/a.md", "memory/b.md"} {
			if _, _, err := rows.Put(ctx, memory.Change{Owner: ada, Path: path, Text: "text",
				Expires: past}); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := rows.Put(ctx, memory.Change{Owner: ada, Path: "memory/a.md", Text: "longer text"}); err != nil {
			t.Errorf("over what has expired: %v", err)
		}
		counted(t, s, ada)
		if _, err := rows.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
		if n, _ := counted(t, s, ada); n != 1 {
			t.Errorf("%d are left", n)
		}
	})
}

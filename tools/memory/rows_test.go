package memory_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

var (
	ada    = tool.Owner{Agent: "a", User: "ada"}
	bob    = tool.Owner{Agent: "a", User: "bob"}
	shared = tool.Owner{Agent: "a"}
)

func put(t *testing.T, rows *memory.Rows, o tool.Owner, path, text string,
	more ...func(*memory.Change)) memory.Document {
	t.Helper()
	c := memory.Change{Owner: o, Path: path, Text: text, Digest: text, By: memory.Author{Name: o.User, Session: "s"}}
	for _, f := range more {
		f(&c)
	}
	d, _, err := rows.Put(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func get(t *testing.T, rows *memory.Rows, o tool.Owner, path string) string {
	t.Helper()
	d, found, err := rows.Get(t.Context(), o, path)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return "(none)"
	}
	return d.Text
}

func TestRowsOfOwners(t *testing.T) {
	eachRows(t, func(t *testing.T, _ *store.Store, rows *memory.Rows) {
		put(t, rows, ada, "memory/x.md", "ada's")
		put(t, rows, shared, "memory/x.md", "shared")
		put(t, rows, shared, "memory/y.md", "shared y")
		put(t, rows, tool.Owner{Agent: "b", User: "ada"}, "memory/z.md", "another agent's")
		for _, c := range []struct {
			o    tool.Owner
			path string
			want string
		}{
			{ada, "memory/x.md", "ada's"}, {bob, "memory/x.md", "shared"}, {shared, "memory/x.md", "shared"},
			{ada, "memory/y.md", "shared y"}, {ada, "memory/z.md", "(none)"},
			{tool.Owner{Agent: "b"}, "memory/z.md", "(none)"},
		} {
			if got := get(t, rows, c.o, c.path); got != c.want {
				t.Errorf("%v reads %q at %s, not %q", c.o, got, c.path, c.want)
			}
		}
		for o, want := range map[tool.Owner]int{ada: 2, bob: 2, shared: 2, {Agent: "b"}: 0} {
			if list, err := rows.List(t.Context(), o, 10); err != nil || len(list) != want {
				t.Errorf("%v reads %d, %v", o, len(list), err)
			}
		}
		d, _, _ := rows.Get(t.Context(), ada, "memory/x.md")
		if list, err := rows.Readable(t.Context(), bob, []string{d.ID}); err != nil || len(list) != 0 {
			t.Errorf("bob reads %v by its id, %v", list, err)
		}
		if paths, err := rows.Duplicates(t.Context(), bob, "ada's", ""); err != nil || len(paths) != 0 {
			t.Errorf("bob hears of %v, %v", paths, err)
		}
	})
}

func TestVersionsAreKept(t *testing.T) {
	eachRows(t, func(t *testing.T, _ *store.Store, rows *memory.Rows) {
		first := put(t, rows, ada, "m", "one", func(c *memory.Change) {
			c.Tags = []string{"t,",
				"u"}
			c.Category = memory.Daily
		})
		second := put(t, rows, ada, "m", "two")
		if second.Version != 2 || second.Category != memory.Daily || len(second.Tags) != 2 || second.ID != first.ID ||
			!second.Created.Equal(first.Created) {
			t.Errorf("%+v", second)
		}
		if same := put(t, rows, ada, "m", "two"); same.Version != 2 {
			t.Errorf("nothing new is version %d", same.Version)
		}
		by := memory.Author{Name: "ada", Session: "s2"}
		if _, found, err := rows.Drop(t.Context(), ada, "m", by); !found || err != nil {
			t.Fatal(found, err)
		}
		if got := get(t, rows, ada, "m"); got != "(none)" {
			t.Errorf("after it was forgotten: %q", got)
		}
		if d, found, err := rows.Undo(t.Context(), ada, "m", by); err != nil || !found || d.Text != "two" ||
			d.Version != 3 || d.Category != memory.Daily {
			t.Errorf("%+v, %v, %v", d, found, err)
		}
		put(t, rows, ada, "m", "four")
		for _, want := range []string{"two", "four", "two"} {
			if d, _, err := rows.Undo(t.Context(), ada, "m", by); err != nil || d.Text != want {
				t.Errorf("undone to %q, not %q, %v", d.Text, want, err)
			}
		}
		past, err := rows.Past(t.Context(), ada, "m", 100)
		if err != nil || len(past) != 6 {
			t.Fatalf("%d, %v", len(past), err)
		}
		if last := past[5]; last.Text != "one" || last.Action != "write" || past[4].Action != "forget" ||
			past[4].By.Session != "s2" || last.Ended.IsZero() {
			t.Errorf("%+v", last)
		}
		put(t, rows, ada, "over", "brief", func(c *memory.Change) { c.Expires = at(time.UnixMilli(1)) })
		if d, found, err := rows.Undo(t.Context(), ada, "over", by); !found || err != nil || d.Text != "brief" ||
			!d.Expires.IsZero() || get(t, rows, ada, "over") != "brief" {
			t.Errorf("what has expired comes back as %+v, %v, %v", d, found, err)
		}
		if _, found, err := rows.Undo(t.Context(), bob, "m", by); found || err != nil {
			t.Errorf("bob took back what ada did: %v", err)
		}
		if _, found, err := rows.Drop(t.Context(), bob, "m", by); found || err != nil {
			t.Errorf("bob forgot what ada knows: %v", err)
		}
	})
}

func TestMemoriesExpire(t *testing.T) {
	eachRows(t, func(t *testing.T, _ *store.Store, rows *memory.Rows) {
		over := func(c *memory.Change) { c.Expires = at(time.UnixMilli(1000)) }
		gone := put(t, rows, ada, "gone", "x", over)
		stays := put(t, rows, ada, "stays", "x", func(c *memory.Change) { c.Expires = at(time.Now().Add(time.Hour)) })
		if left := time.Until(stays.Expires); left < 50*time.Minute || left > 70*time.Minute {
			t.Errorf("it expires in %s", left)
		}
		if got := get(t, rows, ada, "gone"); got != "(none)" {
			t.Errorf("what has expired says %q", got)
		}
		if _, found, err := rows.ByID(t.Context(), gone.ID); found || err != nil {
			t.Errorf("the index finds it: %v", err)
		}
		if list, err := rows.List(t.Context(), ada, 10); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		if d := put(t, rows, ada, "gone", "y"); d.Version != 2 || !d.Expires.IsZero() {
			t.Errorf("over what has expired: %+v", d)
		}
		put(t, rows, ada, "gone", "z", over)
		if n, err := rows.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("%d swept, %v", n, err)
		}
		if past, err := rows.Past(t.Context(), ada, "gone", 10); err != nil || len(past) != 3 ||
			past[0].Action != "expire" {
			t.Errorf("%v, %v", past, err)
		}
		for i := range 30 {
			put(t, rows, ada, "stays", fmt.Sprint(i))
		}
		if _, err := rows.Sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		if past, err := rows.Past(t.Context(), ada, "stays", 100); err != nil || len(past) != 20 ||
			past[0].Text != "28" {
			t.Errorf("%d versions are kept, %v", len(past), err)
		}
	})
}

// TestConcurrentWritesAreVersions has many change one document: each change is a version.
func TestConcurrentWritesAreVersions(t *testing.T) {
	eachRows(t, func(t *testing.T, _ *store.Store, rows *memory.Rows) {
		const writers = 4
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range 3 {
					put(t, rows, ada, "m", fmt.Sprint(w, i))
				}
			})
		}
		all.Wait()
		d, _, err := rows.Get(t.Context(), ada, "m")
		past, _ := rows.Past(t.Context(), ada, "m", 100)
		if err != nil || d.Version != 3*writers || len(past) != 3*writers-1 {
			t.Errorf("version %d, %d former ones, %v", d.Version, len(past), err)
		}
	})
}

// TestManyConcurrentWritesSucceed checks that all of many concurrent changes of one document succeed.
func TestManyConcurrentWritesSucceed(t *testing.T) {
	eachRows(t, func(t *testing.T, _ *store.Store, rows *memory.Rows) {
		const hands, times = 40, 4
		var all sync.WaitGroup
		for hand := range hands {
			all.Go(func() {
				for n := range times {
					c := memory.Change{Owner: ada, Path: "MEMORY.md", Text: fmt.Sprintf("%d of hand %d", n, hand)}
					if _, _, err := rows.Put(t.Context(), c); err != nil {
						t.Errorf("hand %d, time %d: %v", hand, n, err)
						return
					}
				}
			})
		}
		all.Wait()
		d, _, err := rows.Get(t.Context(), ada, "MEMORY.md")
		if err != nil || d.Version != hands*times {
			t.Errorf("version %d, want %d (%v)", d.Version, hands*times, err)
		}
	})
}

func TestPurge(t *testing.T) {
	eachRows(t, func(t *testing.T, s *store.Store, rows *memory.Rows) {
		ada, bob := tool.Owner{Agent: "a", User: "ada"}, tool.Owner{Agent: "a", User: "bob"}
		put := func(o tool.Owner, path, text, session string) {
			t.Helper()
			c := memory.Change{Owner: o, Path: path, Text: text, By: memory.Author{Name: "x", Session: session}}
			if _, _, err := rows.Put(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		put(ada, "memory/one.md", "one", "s1")
		put(ada, "memory/two.md", "secret of s1", "s1")
		put(ada, "memory/two.md", "two", "s2")
		put(bob, "memory/one.md", "bob's", "s1")
		if n, err := rows.Purge(t.Context(), ada, "s1"); n != 1 || err != nil {
			t.Fatalf("%d, %v", n, err)
		}
		if list, err := rows.List(t.Context(), ada, 10); len(list) != 1 || list[0].Path != "memory/two.md" || err != nil {
			t.Errorf("%v, %v", list, err)
		}
		if past, err := rows.Past(t.Context(), ada, "memory/two.md", 10); len(past) != 0 || err != nil {
			t.Errorf("a former version of the session is kept: %v, %v", past, err)
		}
		counted(t, s, ada)
		if n, err := rows.Purge(t.Context(), ada, ""); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		if past, err := rows.Past(t.Context(), ada, "memory/one.md", 10); len(past) != 0 || err != nil {
			t.Errorf("%v, %v", past, err)
		}
		if list, err := rows.List(t.Context(), bob, 10); len(list) != 1 || err != nil {
			t.Errorf("bob has %v, %v", list, err)
		}
	})
}

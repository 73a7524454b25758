package store_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

var (
	ada    = memory.Owner{Agent: "a", User: "ada"}
	bob    = memory.Owner{Agent: "a", User: "bob"}
	shared = memory.Owner{Agent: "a"}
)

func put(t *testing.T, s *store.Store, o memory.Owner, path, text string, more ...func(*memory.Change)) memory.Document {
	t.Helper()
	c := memory.Change{Owner: o, Path: path, Text: text, Digest: text, By: memory.Hand{Author: o.User, Session: "s"}}
	for _, f := range more {
		f(&c)
	}
	d, _, err := s.PutMemory(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func get(t *testing.T, s *store.Store, o memory.Owner, path string) string {
	t.Helper()
	d, found, err := s.Memory(t.Context(), o, path)
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return "(none)"
	}
	return d.Text
}

func TestMemoriesBelongToSomebody(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		put(t, s, ada, "memory/x.md", "ada's")
		put(t, s, shared, "memory/x.md", "shared")
		put(t, s, shared, "memory/y.md", "shared y")
		put(t, s, memory.Owner{Agent: "b", User: "ada"}, "memory/z.md", "another agent's")
		for _, c := range []struct {
			o    memory.Owner
			path string
			want string
		}{
			{ada, "memory/x.md", "ada's"}, {bob, "memory/x.md", "shared"}, {shared, "memory/x.md", "shared"},
			{ada, "memory/y.md", "shared y"}, {ada, "memory/z.md", "(none)"}, {memory.Owner{Agent: "b"}, "memory/z.md", "(none)"},
		} {
			if got := get(t, s, c.o, c.path); got != c.want {
				t.Errorf("%v reads %q at %s, not %q", c.o, got, c.path, c.want)
			}
		}
		for o, want := range map[memory.Owner]int{ada: 2, bob: 2, shared: 2, {Agent: "b"}: 0} {
			if list, err := s.Memories(t.Context(), o, 10); err != nil || len(list) != want {
				t.Errorf("%v reads %d, %v", o, len(list), err)
			}
		}
		d, _, _ := s.Memory(t.Context(), ada, "memory/x.md")
		if list, err := s.MemoriesByID(t.Context(), bob, []string{d.ID}); err != nil || len(list) != 0 {
			t.Errorf("bob reads %v by its id, %v", list, err)
		}
		if paths, err := s.MemoriesAlike(t.Context(), bob, "ada's", ""); err != nil || len(paths) != 0 {
			t.Errorf("bob hears of %v, %v", paths, err)
		}
	})
}

func TestVersionsAreKept(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first := put(t, s, ada, "m", "one", func(c *memory.Change) { c.Tags = []string{"t,", "u"}; c.Category = memory.Daily })
		second := put(t, s, ada, "m", "two")
		if second.Version != 2 || second.Category != memory.Daily || len(second.Tags) != 2 || second.ID != first.ID || !second.Created.Equal(first.Created) {
			t.Errorf("%+v", second)
		}
		if same := put(t, s, ada, "m", "two"); same.Version != 2 {
			t.Errorf("nothing new is version %d", same.Version)
		}
		one := int64(1)
		_, _, err := s.PutMemory(t.Context(), memory.Change{Owner: ada, Path: "m", Text: "x", Expect: &one})
		if err == nil || tool.AsError(err).Kind != tool.Conflict {
			t.Errorf("a version that is over was changed: %v", err)
		}
		by := memory.Hand{Author: "ada", Session: "s2"}
		if _, found, err := s.DropMemory(t.Context(), ada, "m", by); !found || err != nil {
			t.Fatal(found, err)
		}
		if got := get(t, s, ada, "m"); got != "(none)" {
			t.Errorf("after it was forgotten: %q", got)
		}
		if d, found, err := s.UndoMemory(t.Context(), ada, "m", by); err != nil || !found || d.Text != "two" || d.Version != 3 || d.Category != memory.Daily {
			t.Errorf("%+v, %v, %v", d, found, err)
		}
		put(t, s, ada, "m", "four")
		for _, want := range []string{"two", "four", "two"} {
			if d, _, err := s.UndoMemory(t.Context(), ada, "m", by); err != nil || d.Text != want {
				t.Errorf("undone to %q, not %q, %v", d.Text, want, err)
			}
		}
		past, err := s.MemoryPast(t.Context(), ada, "m", 100)
		if err != nil || len(past) != 6 {
			t.Fatalf("%d, %v", len(past), err)
		}
		if last := past[5]; last.Text != "one" || last.Action != "write" || past[4].Action != "forget" || past[4].During != "s2" || last.Ended.IsZero() {
			t.Errorf("%+v", last)
		}
		put(t, s, ada, "over", "brief", func(c *memory.Change) { c.Expires = &memory.Expiry{At: time.UnixMilli(1)} })
		if d, found, err := s.UndoMemory(t.Context(), ada, "over", by); !found || err != nil || d.Text != "brief" || !d.Expires.IsZero() || get(t, s, ada, "over") != "brief" {
			t.Errorf("what has expired comes back as %+v, %v, %v", d, found, err)
		}
		if _, found, err := s.UndoMemory(t.Context(), bob, "m", by); found || err != nil {
			t.Errorf("bob took back what ada did: %v", err)
		}
		if _, found, err := s.DropMemory(t.Context(), bob, "m", by); found || err != nil {
			t.Errorf("bob forgot what ada knows: %v", err)
		}
	})
}

func TestMemoriesExpire(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		over := func(c *memory.Change) { c.Expires = &memory.Expiry{At: time.UnixMilli(1000)} }
		gone := put(t, s, ada, "gone", "x", over)
		stays := put(t, s, ada, "stays", "x", func(c *memory.Change) { c.Expires = &memory.Expiry{After: time.Hour} })
		if left := time.Until(stays.Expires); left < 50*time.Minute || left > 70*time.Minute {
			t.Errorf("it expires in %s", left)
		}
		if got := get(t, s, ada, "gone"); got != "(none)" {
			t.Errorf("what has expired says %q", got)
		}
		if _, found, err := s.MemoryByID(t.Context(), gone.ID); found || err != nil {
			t.Errorf("the index finds it: %v", err)
		}
		if list, err := s.Memories(t.Context(), ada, 10); err != nil || len(list) != 1 {
			t.Errorf("%v, %v", list, err)
		}
		if d := put(t, s, ada, "gone", "y"); d.Version != 2 || !d.Expires.IsZero() {
			t.Errorf("over what has expired: %+v", d)
		}
		put(t, s, ada, "gone", "z", over)
		if n, err := s.SweepMemory(t.Context()); n != 1 || err != nil {
			t.Errorf("%d swept, %v", n, err)
		}
		if past, err := s.MemoryPast(t.Context(), ada, "gone", 10); err != nil || len(past) != 3 || past[0].Action != "expire" {
			t.Errorf("%v, %v", past, err)
		}
		for i := range 30 {
			put(t, s, ada, "stays", fmt.Sprint(i))
		}
		if _, err := s.SweepMemory(t.Context()); err != nil {
			t.Fatal(err)
		}
		if past, err := s.MemoryPast(t.Context(), ada, "stays", 100); err != nil || len(past) != 20 || past[0].Text != "28" {
			t.Errorf("%d versions are kept, %v", len(past), err)
		}
	})
}

// TestWritersAtOnce has many change one document: each change is a version.
func TestWritersAtOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers = 4
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range 3 {
					put(t, s, ada, "m", fmt.Sprint(w, i))
				}
			})
		}
		all.Wait()
		d, _, err := s.Memory(t.Context(), ada, "m")
		past, _ := s.MemoryPast(t.Context(), ada, "m", 100)
		if err != nil || d.Version != 3*writers || len(past) != 3*writers-1 {
			t.Errorf("version %d, %d former ones, %v", d.Version, len(past), err)
		}
	})
}

func TestFollow(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		feed := s
		var keys []string
		round := func(from string, limit int) (string, bool, bool) {
			t.Helper()
			keys = nil
			place, lost, more, err := feed.Follow(t.Context(), from, limit, []string{"a"}, func(topic, key string) { keys = append(keys, topic+key) })
			if err != nil {
				t.Fatal(err)
			}
			return place, lost, more
		}
		begin, lost, _ := round("", 10)
		if !lost {
			t.Error("no place is a place")
		}
		for _, key := range []string{"1", "2", "3"} {
			change(t, s, "a", key)
			change(t, s, "b", key)
		}
		place, lost, more := round(begin, 2)
		if lost || !more || fmt.Sprint(keys) != "[a1 a2]" {
			t.Errorf("%v, %v, %v", lost, more, keys)
		}
		place, lost, more = round(place, 2)
		if lost || more || fmt.Sprint(keys) != "[a3]" {
			t.Errorf("%v, %v, %v", lost, more, keys)
		}
		if again, lost, more := round(place, 2); again != place || lost || more || keys != nil {
			t.Errorf("%v, %v, %v", lost, more, keys)
		}
		change(t, s, "a", "4")
		change(t, s, "a", "5")
		if _, err := s.PruneChanges(t.Context(), -time.Hour); err != nil {
			t.Fatal(err)
		}
		last, lost, _ := round(place, 2)
		if !lost {
			t.Error("what was forgotten is not missed")
		}
		if _, lost, _ = round(last, 2); lost {
			t.Error("the end of the feed is no place")
		}
		if _, lost, _ = round("x"+last, 2); !lost {
			t.Error("a place in another store is one here")
		}
		if _, lost, _ = round(last+"9", 2); !lost {
			t.Error("a place after the end is one")
		}
	})
}

// TestFollowWaitsForOpenTransactions has a transaction open: what is committed after it
// began is not settled, and Follow says that there is more.
func TestFollowWaitsForOpenTransactions(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t))
	feed := s
	begin, _, _, err := feed.Follow(t.Context(), "", 10, []string{"a"}, func(string, string) {})
	if err != nil {
		t.Fatal(err)
	}
	follow := func() (keys []string, more bool) {
		t.Helper()
		_, lost, more, err := feed.Follow(t.Context(), begin, 10, []string{"a"}, func(_, key string) { keys = append(keys, key) })
		if err != nil || lost {
			t.Fatal(lost, err)
		}
		return keys, more
	}
	began, end, ended := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		err := s.Update(context.Background(), func(tx *store.Tx) error {
			if err := tx.Changed("a", "slow"); err != nil {
				return err
			}
			close(began)
			<-end
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}()
	<-began
	change(t, s, "a", "fast")
	if keys, more := follow(); len(keys) != 0 || !more {
		t.Errorf("%v, more %v", keys, more)
	}
	close(end)
	<-ended
	if keys, more := follow(); len(keys) != 2 || more {
		t.Errorf("%v, more %v", keys, more)
	}
}

// TestManyChangeOneDocument has many change one document at once: each of them
// has its turn, and nobody is sent away.
func TestManyChangeOneDocument(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const hands, times = 40, 4
		var all sync.WaitGroup
		for hand := range hands {
			all.Go(func() {
				for n := range times {
					c := memory.Change{Owner: ada, Path: "MEMORY.md", Text: fmt.Sprintf("%d of hand %d", n, hand)}
					if _, _, err := s.PutMemory(t.Context(), c); err != nil {
						t.Errorf("hand %d, time %d: %v", hand, n, err)
						return
					}
				}
			})
		}
		all.Wait()
		d, _, err := s.Memory(t.Context(), ada, "MEMORY.md")
		if err != nil || d.Version != hands*times {
			t.Errorf("version %d, want %d (%v)", d.Version, hands*times, err)
		}
	})
}

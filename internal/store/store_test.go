package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func change(t *testing.T, s *store.Store, topic, key string) {
	t.Helper()
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Changed(topic, key) }); err != nil {
		t.Error(err)
	}
}

// TestFeedLosesNoChange has many writers with transactions that end in another
// order than they began, and a reader that goes by the cursor.
func TestFeedLosesNoChange(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const writers, each = 16, 60
		var all sync.WaitGroup
		for w := range writers {
			all.Go(func() {
				for i := range each {
					err := s.Update(t.Context(), func(tx *store.Tx) error {
						for part := range 1 + i%3 {
							if err := tx.Changed("x", fmt.Sprintf("%d-%d-%d", w, i, part)); err != nil {
								return err
							}
						}
						return nil
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		var written atomic.Bool
		go func() { all.Wait(); written.Store(true) }()
		seen, cursor := map[string]int{}, store.Cursor{}
		for {
			last := written.Load()
			list, err := s.Changes(t.Context(), cursor, 50, "x", "y")
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range list {
				seen[c.Key]++
				if !cursor.Before(c.Cursor) {
					t.Fatalf("%v comes after %v", c.Cursor, cursor)
				}
				cursor = c.Cursor
			}
			if last && len(list) == 0 {
				break
			}
		}
		if want := writers * (each + each/3*3); len(seen) != want {
			t.Errorf("%d changes of %d were read", len(seen), want)
		}
		for key, n := range seen {
			if n > 1 {
				t.Errorf("%s was read %d times", key, n)
			}
		}
		st, err := s.Status(t.Context())
		if err != nil || st.Feed.Last != cursor.String() || st.Feed.First == st.Feed.Last {
			t.Errorf("the feed is %+v, %v, and was read to %v", st.Feed, err, cursor)
		}
		if _, err := s.PruneChanges(t.Context(), -time.Hour); err != nil {
			t.Fatal(err)
		}
		if st, err = s.Status(t.Context()); err != nil || st.Feed.First != cursor.String() {
			t.Errorf("after all is forgotten the feed is %+v, not from its end %v: %v", st.Feed, cursor, err)
		}
	})
}

func TestWait(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		a := s.Wait("a")
		change(t, s, "a", "1")
		expectClosed(t, a)
	})
}

func expectClosed(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(3 * time.Minute):
		t.Fatal("the waiter was not woken")
	}
}

func TestWaitOtherProcess(t *testing.T) {
	two := func(t *testing.T, dsn string) {
		one, other := storetest.Open(t, dsn), storetest.Open(t, dsn)
		for range 20 {
			woken := other.Wait("a")
			before, err := other.Changes(t.Context(), store.Cursor{}, 1000, "a")
			if err != nil {
				t.Fatal(err)
			}
			change(t, one, "a", "1")
			for {
				expectClosed(t, woken)
				woken = other.Wait("a")
				now, err := other.Changes(t.Context(), store.Cursor{}, 1000, "a")
				if err != nil {
					t.Fatal(err)
				}
				if len(now) == len(before)+1 {
					break
				}
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) { two(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { two(t, storetest.Database(t)) })
}

// TestServerRestart restarts PostgreSQL under a store in use.
func TestServerRestart(t *testing.T) {
	server := storetest.Postgres(t)
	s := storetest.Open(t, server.DSN("postgres"))
	change(t, s, "a", "before")
	s.Wait("a") // it listens
	server.Stop(t, "immediate")
	if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Changed("a", "while") }); err == nil {
		t.Fatal("something was stored nowhere")
	}
	server.Start(t)
	woken := s.Wait("a")
	change(t, s, "a", "after")
	expectClosed(t, woken)
	list, err := s.Changes(t.Context(), store.Cursor{}, 10)
	if err != nil || len(list) != 2 || list[1].Key != "after" {
		t.Errorf("%v, %v", list, err)
	}
}

func TestFailedUpdateWritesNothing(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		broken := errors.New("broken")
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			if err := tx.Changed("a", "1"); err != nil {
				return err
			}
			return broken
		})
		if !errors.Is(err, broken) {
			t.Errorf("%v", err)
		}
		if list, err := s.Changes(t.Context(), store.Cursor{}, 10); err != nil || len(list) != 0 {
			t.Errorf("%v, %v", list, err)
		}
		err = s.View(t.Context(), func(tx *store.Tx) error { return tx.Changed("a", "1") })
		if err == nil {
			t.Error("a view has written")
		}
	})
}

func TestConcurrentOpen(t *testing.T) {
	open := func(t *testing.T, dsn string) {
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				s, err := store.Open(context.Background(), store.Options{DSN: dsn})
				if err != nil {
					t.Error(err)
					return
				}
				change(t, s, "a", "x")
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		list, err := storetest.Open(t, dsn).Changes(t.Context(), store.Cursor{}, 100)
		if err != nil || len(list) != 12 {
			t.Errorf("%d, %v", len(list), err)
		}
	}
	t.Run("sqlite", func(t *testing.T) { open(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { open(t, storetest.Database(t)) })
}

func TestCursor(t *testing.T) {
	c := store.Cursor{XID: 7, Seq: 12}
	if got, err := store.ParseCursor(c.String()); err != nil || got != c {
		t.Errorf("%v, %v", got, err)
	}
	for _, text := range []string{"", "7", "7-", "7-12x", "7-12-1", " 7-12", "07-12"} {
		if _, err := store.ParseCursor(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestIDsSortByTime(t *testing.T) {
	a := store.NewID()
	time.Sleep(2 * time.Millisecond)
	b := store.NewID()
	if strings.Compare(a, b) >= 0 || len(a) != 36 || a[14] != '7' {
		t.Errorf("%s, %s", a, b)
	}
}

func TestOpenLazy(t *testing.T) {
	dir := t.TempDir()
	s, err := store.OpenLazy(store.Options{DSN: dir})
	if err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("before anything was asked there are %v, %v", entries, err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { change(t, s, "a", "1") })
	}
	all.Wait()
	if list, err := s.Changes(t.Context(), store.Cursor{}, 10); err != nil || len(list) != 8 {
		t.Errorf("%v, %v", list, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Update(t.Context(), func(*store.Tx) error { return nil }); err == nil {
		t.Error("a closed store took something")
	}
}

// TestReadsSurviveCutConnections cuts all connections of a store, as a server or a
// router does, while it reads.
func TestReadsSurviveCutConnections(t *testing.T) {
	dsn := storetest.Database(t)
	s, other := storetest.Open(t, dsn), storetest.Open(t, dsn)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				var one int
				if err := s.Row(t.Context(), "SELECT 1", nil, &one); err != nil {
					t.Errorf("a row: %v", err)
				}
				err := s.View(t.Context(), func(tx *store.Tx) error { return tx.Row("SELECT 1", nil, &one) })
				if err != nil {
					t.Errorf("a snapshot: %v", err)
				}
			}
		})
	}
	defer func() { stop(); all.Wait() }()
	for range 20 {
		err := other.View(t.Context(), func(tx *store.Tx) error {
			var n int
			return tx.Row("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "+
				"WHERE datname = current_database() AND pid <> pg_backend_pid()", nil, &n)
		})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

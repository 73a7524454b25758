package store_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestTooManyConnections has two processes that together want more connections than the server allows. Their
// requests wait for each other.
func TestTooManyConnections(t *testing.T) {
	dsn := storetest.Database(t)
	first := storetest.Open(t, dsn)
	_, database, _ := strings.Cut(dsn, "postgres@/")
	name := "few_" + database[:strings.Index(database, "?")]
	for _, statement := range []string{
		"CREATE ROLE " + name + " LOGIN CONNECTION LIMIT 4", "GRANT ALL ON SCHEMA public TO " + name,
		"GRANT ALL ON ALL TABLES IN SCHEMA public TO " + name,
		"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO " + name,
	} {
		if err := first.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec(statement)
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	few := strings.Replace(dsn, "//postgres@", "//"+name+"@", 1)
	// Both are open before the first call: a store that opens while others hold all connections gives up after a
	// while, and how long they hold them depends on the machine.
	stores := []*store.Store{storetest.Open(t, few), storetest.Open(t, few)}
	var calls sync.WaitGroup
	for _, s := range stores {
		for range 12 {
			calls.Go(func() {
				for range 10 {
					var one int
					if err := s.Row(t.Context(), "SELECT count(*) FROM memory", nil, &one); err != nil {
						t.Error(err)
						return
					}
					if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Changed("topic", "key") }); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	calls.Wait()
}

// TestConnections bounds the connections of a process.
func TestConnections(t *testing.T) {
	dsn := storetest.Database(t)
	s, err := store.Open(t.Context(), store.Options{DSN: dsn, Connections: 3})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	_ = s.Wait("topic") // one more connection
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			for range 5 {
				if err := s.View(t.Context(), func(tx *store.Tx) error {
					var n int
					if err := tx.Row("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()", nil, &n); err != nil {
						return err
					}
					if n > 4 {
						t.Errorf("%d connections, want at most 3 and one that listens", n)
					}
					return nil
				}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	calls.Wait()
}

// TestTransactionPooling has two processes with three connections each behind a PgBouncer in transaction mode, which has
// two to the server. They write at once, and notice each other's changes.
func TestTransactionPooling(t *testing.T) {
	direct := storetest.Database(t)
	pooled := storetest.Bouncer(t, direct)
	var stores []*store.Store
	for range 2 {
		s, err := store.OpenLazy(store.Options{DSN: pooled, Direct: direct, Connections: 3})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		for t.Context().Err() == nil { // until PgBouncer has started
			if err := s.View(t.Context(), func(*store.Tx) error { return nil }); err == nil {
				break
			}
		}
		stores = append(stores, s)
	}
	<-stores[1].Wait("heard") // it listens now
	heard := stores[1].Wait("heard")
	var calls sync.WaitGroup
	for _, s := range stores {
		for i := range 12 {
			calls.Go(func() {
				for range 10 {
					if err := s.Update(t.Context(), func(tx *store.Tx) error {
						if _, err := tx.Exec("INSERT INTO latch (name) VALUES ($1) ON CONFLICT (name) DO NOTHING",
							fmt.Sprint(i)); err != nil {
							return err
						}
						return tx.Changed("topic", "key")
					}); err != nil {
						t.Error(err)
					}
					var n int
					if err := s.Row(t.Context(), "SELECT count(*) FROM latch WHERE name <> $1", []any{"x"}, &n); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	calls.Wait()
	if err := stores[0].Update(t.Context(), func(tx *store.Tx) error { return tx.Changed("heard", "") }); err != nil {
		t.Fatal(err)
	}
	select {
	case <-heard:
	case <-t.Context().Done():
		t.Error("the other process does not hear of a change")
	}
}

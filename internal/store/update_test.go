package store_test

import (
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestDeadlockedUpdateIsRetried has one transaction and other ones lock two rows of
// PostgreSQL in opposite orders, one after the other. The server ends the first
// each time, so Update must retry it until it succeeds.
func TestDeadlockedUpdateIsRetried(t *testing.T) {
	const others = 9
	s := storetest.Open(t, storetest.Database(t))
	add := func(tx *store.Tx, row int) error {
		_, err := tx.Exec("UPDATE tally SET n = n + 1 WHERE row = $1", row)
		return err
	}
	steps := func(todo ...func() error) (err error) {
		for _, step := range todo {
			if err == nil {
				err = step()
			}
		}
		return err
	}
	exec := func(tx *store.Tx, text string) func() error {
		return func() error { _, err := tx.Exec(text); return err }
	}
	if err := s.Update(t.Context(), func(tx *store.Tx) error {
		return steps(exec(tx, "CREATE TABLE tally (row bigint PRIMARY KEY, n bigint)"),
			exec(tx, "INSERT INTO tally VALUES (1, 0), (2, 0)"))
	}); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	attempts := 0
	err := s.Update(t.Context(), func(tx *store.Tx) error {
		attempts++
		obstruct := func() error {
			if attempts > others {
				return nil
			}
			all.Go(func() {
				err := s.Update(t.Context(), func(tx *store.Tx) error {
					// it is not the one that the server ends
					return steps(exec(tx, "SET LOCAL deadlock_timeout = '1h'"),
						func() error { return add(tx, 2) }, func() error { return add(tx, 1) })
				})
				if err != nil {
					t.Error(err)
				}
			})
			return waitsForALock(t, s)
		}
		return steps(exec(tx, "SET LOCAL deadlock_timeout = '1ms'"),
			func() error { return add(tx, 1) }, obstruct, func() error { return add(tx, 2) })
	})
	all.Wait()
	var total int
	reading := s.View(t.Context(), func(tx *store.Tx) error { return tx.Row("SELECT sum(n) FROM tally", nil, &total) })
	if err != nil || reading != nil || attempts != others+1 || total != 2*(others+1) {
		t.Errorf("after %d attempts: %v; the sum is %d, %v", attempts, err, total, reading)
	}
}

// waitsForALock returns when a transaction waits for a lock of another one.
func waitsForALock(t *testing.T, s *store.Store) error {
	const text = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
	for waiting := 0; waiting == 0; {
		if err := s.View(t.Context(), func(tx *store.Tx) error { return tx.Row(text, nil, &waiting) }); err != nil {
			return err
		}
	}
	return nil
}

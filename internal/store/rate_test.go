package store_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestMetersShareARate has two processes' worth of callers in a hurry use
// a rate up.
func TestMetersShareARate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := store.Rate{Times: 10, Period: 10 * time.Hour, Burst: 700}
		var allowed atomic.Int64
		var all sync.WaitGroup
		for range 2 {
			m := s.Meter()
			for range 8 {
				all.Go(func() {
					for {
						wait, err := m.Take(t.Context(), "k", r)
						if err != nil {
							t.Error(err)
						}
						if err != nil || wait > 0 {
							return
						}
						allowed.Add(1)
					}
				})
			}
		}
		all.Wait()
		if n := allowed.Load(); n != int64(r.Burst) {
			t.Errorf("%d were allowed, want %d", n, r.Burst)
		}
		if wait, err := s.Meter().Take(t.Context(), "other", r); err != nil || wait != 0 {
			t.Errorf("another key: %s, %v", wait, err)
		}
	})
}

func TestRate(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := store.Rate{Times: 1, Period: time.Hour, Burst: 5}
		var mu sync.Mutex
		allowed := 0
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				wait, err := s.Take(t.Context(), "k", r)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Error(err)
				case wait == 0:
					allowed++
				case wait < 50*time.Minute || wait > time.Hour:
					t.Errorf("wait %s", wait)
				}
			})
		}
		all.Wait()
		if allowed != 5 {
			t.Errorf("%d of 5 were allowed", allowed)
		}
		if wait, err := s.Take(t.Context(), "other", r); err != nil || wait != 0 {
			t.Errorf("%s, %v", wait, err)
		}
		if err := s.PruneRates(t.Context()); err != nil {
			t.Fatal(err)
		}
		if wait, err := s.Take(t.Context(), "k", r); err != nil || wait == 0 {
			t.Errorf("what is not earned yet was forgotten: %v", err)
		}
	})
}

// TestClockSetBack expects that a database whose clock was ahead for a while refuses no call because of that.
func TestClockSetBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := store.Rate{Times: 60, Period: time.Minute, Burst: 5}
		err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("INSERT INTO rate (key, tat) VALUES ('k', {{now}} + $1)", (72 * time.Hour).Milliseconds())
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if wait, err := s.Take(t.Context(), "k", r); err != nil || wait > 0 {
			t.Errorf("wait %s, %v", wait, err)
		}
	})
}

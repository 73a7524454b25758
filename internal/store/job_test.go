package store_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func enqueue(t *testing.T, s *store.Store, j store.NewJob) (id string, added bool) {
	t.Helper()
	err := s.Update(t.Context(), func(tx *store.Tx) (err error) {
		id, added, err = tx.Enqueue(j)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id, added
}

func jobOf(t *testing.T, s *store.Store, id string) (j store.Job) {
	t.Helper()
	if err := s.View(t.Context(), func(tx *store.Tx) (err error) { j, err = tx.Job(id); return err }); err != nil {
		t.Fatal(err)
	}
	return j
}

func TestJobsRunOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const jobs = 120
		for i := range jobs {
			enqueue(t, s, store.NewJob{Kind: "k", Payload: fmt.Sprint(i)})
		}
		enqueue(t, s, store.NewJob{Kind: "other"})
		var mu sync.Mutex
		done := map[string]int{}
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for {
					j, err := s.Acquire(t.Context(), "k", fmt.Sprint(w), time.Minute)
					if errors.Is(err, store.ErrNotFound) {
						return
					}
					if err != nil {
						t.Error(err)
						return
					}
					if err := s.Finish(t.Context(), j, "ok", "", 0); err != nil {
						t.Error(err)
					}
					mu.Lock()
					done[j.Payload]++
					mu.Unlock()
				}
			})
		}
		all.Wait()
		if len(done) != jobs {
			t.Errorf("%d of %d jobs were done", len(done), jobs)
		}
		for p, n := range done {
			if n != 1 {
				t.Errorf("job %s was done %d times", p, n)
			}
		}
	})
}

func TestExpiredLeaseLosesJob(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		id, _ := enqueue(t, s, store.NewJob{Kind: "k", Attempts: 2})
		first, err := s.Acquire(t.Context(), "k", "a", -time.Second) // the lease has expired at once
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Acquire(t.Context(), "k", "b", time.Minute)
		if err != nil || second.Attempt != 2 || second.ID != id {
			t.Fatalf("%+v, %v", second, err)
		}
		if _, err := s.Renew(t.Context(), first, time.Minute); !errors.Is(err, store.ErrLost) {
			t.Errorf("the first holder renewed: %v", err)
		}
		if err := s.Finish(t.Context(), first, "stale", "", 0); !errors.Is(err, store.ErrLost) {
			t.Errorf("the first holder finished: %v", err)
		}
		if err := s.Update(t.Context(), func(tx *store.Tx) error { return tx.Cancel(id) }); err != nil {
			t.Fatal(err)
		}
		if stop, err := s.Renew(t.Context(), second, -time.Second); err != nil || !stop {
			t.Errorf("the holder should have stopped: %v", err)
		}
		if _, err := s.Acquire(t.Context(), "k", "c", time.Minute); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("a third attempt of two: %v", err)
		}
		if err := s.SweepJobs(t.Context(), time.Hour); err != nil {
			t.Fatal(err)
		}
		if j := jobOf(t, s, id); j.State != store.Failed || j.Error == "" {
			t.Errorf("%+v", j)
		}
	})
}

func TestJobRetries(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		id, added := enqueue(t, s, store.NewJob{Kind: "k", Dedupe: "one", Attempts: 2})
		if _, again := enqueue(t, s, store.NewJob{Kind: "k", Dedupe: "one"}); !added || again {
			t.Errorf("added %v, and again %v", added, again)
		}
		for attempt, want := range []store.JobState{store.Queued, store.Failed} {
			j, err := s.Acquire(t.Context(), "k", "a", time.Minute)
			if err != nil || j.Attempt != attempt+1 {
				t.Fatalf("%+v, %v", j, err)
			}
			if err := s.Finish(t.Context(), j, "", "broken", 0); err != nil {
				t.Fatal(err)
			}
			if j := jobOf(t, s, id); j.State != want || j.Error != "broken" {
				t.Errorf("%+v", j)
			}
		}
		if err := s.SweepJobs(t.Context(), -time.Second); err != nil {
			t.Fatal(err)
		}
		err := s.View(t.Context(), func(tx *store.Tx) error { _, err := tx.Job(id); return err })
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("an old job is still there: %v", err)
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

package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

func enqueue(t *testing.T, q *jobs.Queue, n jobs.New) (id string, added bool) {
	t.Helper()
	err := q.Store.Update(t.Context(), func(tx *store.Tx) (err error) {
		id, added, err = q.Enqueue(tx, n)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return id, added
}

func cancel(t *testing.T, q *jobs.Queue, id string) (j jobs.Job) {
	t.Helper()
	if err := q.Store.Update(t.Context(), func(tx *store.Tx) (err error) {
		j, err = q.Cancel(tx, id, "not needed")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return j
}

func get(t *testing.T, q *jobs.Queue, id string) (j jobs.Job) {
	t.Helper()
	if err := q.Store.View(t.Context(), func(tx *store.Tx) (err error) {
		j,
			err = q.Get(tx, id)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return j
}

// await waits until a job has ended.
func await(t *testing.T, q *jobs.Queue, id string) jobs.Job {
	t.Helper()
	for {
		changed := q.Store.Wait(jobs.Topic)
		if j := get(t, q, id); j.State.Final() {
			return j
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatal("the job does not end")
		}
	}
}

// run runs a queue, and returns a function that ends it.
func run(t *testing.T, q *jobs.Queue) (end func()) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { q.Run(ctx) })
	end = sync.OnceFunc(func() { stop(); running.Wait() })
	t.Cleanup(end)
	return end
}

// reported counts the calls of Ended that were committed, in the change feed.
func reported(t *testing.T, s *store.Store) map[string]int {
	t.Helper()
	list, err := s.Changes(t.Context(), store.Cursor{}, 100_000, "end")
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]int{}
	for _, c := range list {
		times[c.Key]++
	}
	return times
}

func report(tx *store.Tx, j jobs.Job) error { return tx.Changed("end", j.ID) }

// until waits for the end of a context and returns its cause.
func until(ctx context.Context, _ *jobs.Held) (string, error) {
	<-ctx.Done()
	return "", context.Cause(ctx)
}

func TestJobsAreDoneOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const n = 120
		var mu sync.Mutex
		done := map[string]int{}
		q := &jobs.Queue{Store: s, Kind: "k", Slots: 4, Ended: report,
			Do: func(_ context.Context, h *jobs.Held) (string, error) {
				mu.Lock()
				defer mu.Unlock()
				done[h.Payload]++
				return "did " + h.Payload, nil
			}}
		other := &jobs.Queue{Store: s, Kind: "other", Do: until}
		second := &jobs.Queue{Store: s, Kind: "k", Slots: 4, Ended: report, Do: q.Do}
		var ids []string
		for i := range n {
			if i == n/2 {
				run(t, q)
				run(t, second)
			}
			id, _ := enqueue(t, q, jobs.New{Payload: fmt.Sprint(i)})
			ids = append(ids, id)
		}
		left, _ := enqueue(t, other, jobs.New{})
		for i, id := range ids {
			if j := await(t, q, id); j.State != jobs.Done || j.Result != fmt.Sprint("did ", i) || j.Attempt != 1 {
				t.Errorf("%+v", j)
			}
		}
		for payload, times := range done {
			if times != 1 {
				t.Errorf("job %s was done %d times", payload, times)
			}
		}
		if j := get(t, other, left); j.State != jobs.Queued {
			t.Errorf("a job of another kind: %+v", j)
		}
		times := reported(t, s)
		for _, id := range ids {
			if times[id] != 1 {
				t.Errorf("the end of job %s was reported %d times", id, times[id])
			}
		}
	})
}

func TestCancel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun := make(chan string, 2)
		q := &jobs.Queue{Store: s, Kind: "k", Ended: report}
		q.Do = func(ctx context.Context, h *jobs.Held) (string, error) {
			begun <- h.ID
			_, err := until(ctx, h)
			if !errors.Is(err, jobs.ErrCancelled) || !strings.HasSuffix(err.Error(), "not needed") {
				t.Errorf("the context ended with %v", err)
			}
			return "half of it", err
		}
		run(t, q)
		first, _ := enqueue(t, q, jobs.New{Owner: "a"})
		<-begun
		queued, _ := enqueue(t, q, jobs.New{Owner: "b"}) // there is one slot
		if j := cancel(t, q, queued); j.State != jobs.Cancelled || j.Reason != "not needed" {
			t.Errorf("%+v", j)
		}
		if j := cancel(t, q, first); j.State.Final() && j.State != jobs.Cancelled {
			t.Errorf("%+v", j)
		}
		if j := await(t, q, first); j.State != jobs.Cancelled || j.Reason != "not needed" || j.Result != "half of it" {
			t.Errorf("%+v", j)
		}
		if j := cancel(t, q, first); j.Reason != "not needed" {
			t.Errorf("cancelled again: %+v", j)
		}
		if times := reported(t, s); times[first] != 1 || times[queued] != 1 {
			t.Errorf("%v", times)
		}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := q.Cancel(tx, "none", "")
			return err
		}); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("cancelling no job: %v", err)
		}
	})
}

func TestReasons(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := &jobs.Queue{Store: s, Kind: "k", Do: func(_ context.Context, h *jobs.Held) (string, error) {
			if h.Payload == "panics" {
				panic("at the job")
			}
			return "", errors.New("the model cannot be reached")
		}}
		run(t, q)
		fails, _ := enqueue(t, q, jobs.New{Attempts: 3})
		if j := await(t, q, fails); j.State != jobs.Failed || j.Reason != "the model cannot be reached" {
			t.Errorf("%+v", j)
		}
		panics, _ := enqueue(t, q, jobs.New{Payload: "panics"})
		if j := await(t, q, panics); j.State != jobs.Failed || j.Reason != "an internal error ended it" {
			t.Errorf("%+v", j)
		}
	})
}

// TestLostJob takes a job from its holder, as another process does after the lease has
// expired.
func TestLostJob(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun, lost := make(chan bool), make(chan error, 1)
		q := &jobs.Queue{Store: s, Kind: "k", Lease: 100 * time.Millisecond, Ended: report}
		q.Do = func(ctx context.Context, h *jobs.Held) (string, error) {
			if h.Attempt > 1 {
				return "after " + h.Saved, nil
			}
			if err := s.Update(ctx, func(tx *store.Tx) error { return h.Save(tx, "step 1") }); err != nil {
				return "", err
			}
			begun <- true
			_, err := until(ctx, h)
			saved := s.Update(context.WithoutCancel(ctx), func(tx *store.Tx) error { return h.Save(tx, "stale") })
			if !errors.Is(saved, jobs.ErrLost) {
				t.Errorf("a former holder saved: %v", saved)
			}
			lost <- err
			return "stale", nil
		}
		run(t, q)
		id, _ := enqueue(t, q, jobs.New{Attempts: 2})
		<-begun
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec("UPDATE job SET state = 'queued' WHERE id = $1", id); err != nil {
				return err
			}
			return tx.Changed(jobs.Topic, id)
		}); err != nil {
			t.Fatal(err)
		}
		if err := <-lost; !errors.Is(err, jobs.ErrLost) {
			t.Errorf("the context ended with %v", err)
		}
		if j := await(t, q, id); j.State != jobs.Done || j.Result != "after step 1" || j.Attempt != 2 {
			t.Errorf("%+v", j)
		}
		if times := reported(t, s); times[id] != 1 {
			t.Errorf("%v", times)
		}
	})
}

func TestEndOfRunGivesJobsBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun := make(chan bool, 1)
		q := &jobs.Queue{Store: s, Kind: "k", Do: func(ctx context.Context, h *jobs.Held) (string, error) {
			begun <- true
			if h.Attempt == 2 {
				return "ok", nil
			}
			return until(ctx, h)
		}}
		end := run(t, q)
		id, _ := enqueue(t, q, jobs.New{}) // one attempt; the interrupted one does not count
		<-begun
		end()
		if j := get(t, q, id); j.State != jobs.Queued {
			t.Errorf("%+v", j)
		}
		run(t, q)
		if j := await(t, q, id); j.State != jobs.Done {
			t.Errorf("%+v", j)
		}
	})
}

func TestDueAndOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var order []string
		q := &jobs.Queue{Store: s, Kind: "k", Do: func(_ context.Context, h *jobs.Held) (string, error) {
			order = append(order, h.Payload)
			return "", nil
		}}
		soon := time.Now().Add(300 * time.Millisecond)
		last, _ := enqueue(t, q, jobs.New{Owner: "a", Payload: "last", Due: soon})
		late, _ := enqueue(t, q, jobs.New{Owner: "b", Payload: "tomorrow", Due: soon.Add(24 * time.Hour), Once: "x"})
		enqueue(t, q, jobs.New{Owner: "a", Payload: "first"})
		if _, added := enqueue(t, q, jobs.New{Once: "x"}); added {
			t.Error("the same job was added twice")
		}
		run(t, q)
		if j := await(t, q, last); j.Ended.Before(soon.Truncate(time.Millisecond)) {
			t.Errorf("due at %s: %+v", soon, j)
		}
		if want := []string{"first", "last"}; !slices.Equal(order, want) {
			t.Errorf("done: %v", order)
		}
		for _, c := range []struct {
			owner  string
			states []jobs.State
			n      int
		}{{"", nil, 1}, {"a", nil, 0}, {"b", nil, 1}, {"a", []jobs.State{jobs.Done, jobs.Failed}, 2}} {
			var list []jobs.Job
			if err := s.View(t.Context(), func(tx *store.Tx) (err error) {
				list, err = q.List(tx, c.owner, c.states...)
				return err
			}); err != nil || len(list) != c.n {
				t.Errorf("%+v: %d jobs, %v", c, len(list), err)
			}
		}
		if j := get(t, q, late); j.State != jobs.Queued {
			t.Errorf("%+v", j)
		}
	})
}

func TestOldJobsAreDeleted(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := &jobs.Queue{Store: s, Kind: "k", Do: func(context.Context, *jobs.Held) (string, error) {
			return "ok",
				nil
		}}
		end := run(t, q)
		id, _ := enqueue(t, q, jobs.New{})
		await(t, q, id)
		end()
		q.Keep = time.Nanosecond // the next Run begins with deleting
		run(t, q)
		for {
			err := s.View(t.Context(), func(tx *store.Tx) error { _, err := q.Get(tx, id); return err })
			if errors.Is(err, store.ErrNotFound) {
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond)
		}
	})
}

func TestJobsOfDeadProcesses(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := &jobs.Queue{Store: s, Kind: "k", Ended: report, Do: func(context.Context, *jobs.Held) (string, error) {
			return "ok", nil
		}}
		last, _ := enqueue(t, q, jobs.New{})
		again, _ := enqueue(t, q, jobs.New{Attempts: 2})
		stopped, _ := enqueue(t, q, jobs.New{Attempts: 2})
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			_, err := tx.Exec("UPDATE job SET state = 'running', attempt = 1, run_at = 1, holder = 'dead'")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if j := cancel(t, q, stopped); j.State != jobs.Running {
			t.Errorf("%+v", j)
		}
		run(t, q)
		for id, want := range map[string]struct {
			state  jobs.State
			reason string
		}{
			last:    {jobs.Failed, "the server that worked on it ended or lost its database"},
			again:   {jobs.Done, ""},
			stopped: {jobs.Cancelled, "not needed"},
		} {
			if j := await(t, q, id); j.State != want.state || j.Reason != want.reason {
				t.Errorf("%+v, want %v", j, want)
			}
		}
		if times := reported(t, s); times[last] != 1 || times[again] != 1 || times[stopped] != 1 {
			t.Errorf("%v", times)
		}
	})
}

// TestJobAdrift has a job that the database has given to a process which did not get the answer, while it works on
// another one.
func TestJobAdrift(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		begun := make(chan string, 3)
		q := &jobs.Queue{Store: s, Kind: "k", Slots: 2, Ended: report, Do: func(ctx context.Context, h *jobs.Held) (string, error) {
			begun <- h.Payload
			if h.Payload == "first" {
				return until(ctx, h)
			}
			return "ok", nil
		}}
		run(t, q)
		first, _ := enqueue(t, q, jobs.New{Payload: "first"})
		<-begun
		ids := map[int]string{}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			for _, attempts := range []int{1, 2} {
				id, _, err := q.Enqueue(tx, jobs.New{Attempts: attempts})
				if err != nil {
					return err
				}
				ids[attempts] = id
				if _, err := tx.Exec(`UPDATE job SET state = 'running', attempt = 1, run_at = {{now}} + 15000,
					holder = (SELECT holder FROM job WHERE id = $2) WHERE id = $1`, id, first); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if j := await(t, q, ids[1]); j.State != jobs.Failed || j.Reason != "the server that worked on it ended or lost its database" {
			t.Errorf("%+v", j)
		}
		if j := await(t, q, ids[2]); j.State != jobs.Done || j.Attempt != 2 {
			t.Errorf("%+v", j)
		}
		if j := get(t, q, first); j.State != jobs.Running || j.Attempt != 1 {
			t.Errorf("%+v", j)
		}
	})
}

// TestLeaseEndsDuringExpiry has a job whose lease ends while another one, whose lease has ended, is failed. It must not
// be done again, because it has one attempt.
func TestLeaseEndsDuringExpiry(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ids := map[string]string{}
		q := &jobs.Queue{Store: s, Kind: "k", Do: func(context.Context, *jobs.Held) (string, error) { return "again", nil },
			Ended: func(tx *store.Tx, j jobs.Job) error {
				if j.Payload == "first" {
					if _, err := tx.Exec("UPDATE job SET run_at = 1 WHERE id = $1", ids["second"]); err != nil {
						return err
					}
				}
				return report(tx, j)
			}}
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			for name, left := range map[string]int{"first": -1, "second": 15000} {
				id, _, err := q.Enqueue(tx, jobs.New{Payload: name})
				if err != nil {
					return err
				}
				ids[name] = id
				if _, err := tx.Exec(`UPDATE job SET state = 'running', attempt = 1, holder = 'dead', run_at = {{now}} + $2
					WHERE id = $1`, id, left); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		run(t, q)
		for name, id := range ids {
			if j := await(t, q, id); j.State != jobs.Failed || j.Attempt != 1 {
				t.Errorf("%s: %+v", name, j)
			}
		}
	})
}

// TestAble has a process that cannot do jobs for a while.
func TestAble(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var able atomic.Bool
		refused := make(chan bool, 1)
		q := &jobs.Queue{Store: s, Kind: "k", Do: func(context.Context, *jobs.Held) (string, error) { return "here", nil },
			Able: func() bool {
				select {
				case refused <- true:
				default:
				}
				return able.Load()
			}}
		other := &jobs.Queue{Store: s, Kind: "k", Do: func(context.Context, *jobs.Held) (string, error) { return "elsewhere", nil }}
		run(t, q)
		id, _ := enqueue(t, q, jobs.New{})
		<-refused
		if j := get(t, q, id); j.State != jobs.Queued || j.Attempt != 0 {
			t.Errorf("%+v", j)
		}
		end := run(t, other)
		if j := await(t, q, id); j.Result != "elsewhere" {
			t.Errorf("%+v", j)
		}
		end()
		id, _ = enqueue(t, q, jobs.New{})
		able.Store(true)
		if j := await(t, q, id); j.Result != "here" {
			t.Errorf("%+v", j)
		}
	})
}

// TestClockOfTheDatabaseIsSetBack has jobs from a time that the clock of the database reaches in an hour only.
func TestClockOfTheDatabaseIsSetBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		q := &jobs.Queue{Store: s, Kind: "k", Lease: 200 * time.Millisecond, Do: func(context.Context, *jobs.Held) (string,
			error) {
			return "ok", nil
		}}
		q.Ahead = func(tx *store.Tx, j jobs.Job) error {
			_, err := tx.Exec("UPDATE job SET run_at = {{now}} WHERE id = $1 AND payload = 'recurs'", j.ID)
			return err
		}
		held, _ := enqueue(t, q, jobs.New{Attempts: 2}) // by a process that has died
		queued, _ := enqueue(t, q, jobs.New{})
		recurs, _ := enqueue(t, q, jobs.New{Payload: "recurs", Due: time.Now().Add(time.Hour)})
		later, _ := enqueue(t, q, jobs.New{Due: time.Now().Add(time.Hour)})
		again, _ := enqueue(t, q, jobs.New{}) // it is done again after a moment, as any job of a queue with Every
		if err := s.Update(t.Context(), func(tx *store.Tx) error {
			if _, err := tx.Exec("UPDATE job SET created = created + 3600000, run_at = run_at + 3600000"); err != nil {
				return err
			}
			_, err := tx.Exec("UPDATE job SET state = 'running', attempt = 1, holder = 'dead', created = 1 WHERE id = $1", held)
			if err != nil {
				return err
			}
			_, err = tx.Exec("UPDATE job SET created = 1, timed = run_at, run_at = run_at + 10 WHERE id = $1", again)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		run(t, q)
		for _, id := range []string{held, queued, recurs, again} {
			if j := await(t, q, id); j.State != jobs.Done {
				t.Errorf("%+v", j)
			}
		}
		if j := get(t, q, later); j.State != jobs.Queued {
			t.Errorf("a job for a time of the calendar: %+v", j)
		}
	})
}

// TestClockJumps sets the clock of the database an hour ahead and back while a loop runs.
func TestClockJumps(t *testing.T) {
	dsn := storetest.Database(t)
	clock := storetest.NewClock(t, storetest.Open(t, dsn), dsn)
	s, begun := storetest.Open(t, clock.DSN), time.Now()
	clock.Set(t, begun.Add(time.Hour))
	done := make(chan bool)
	q := &jobs.Queue{Store: s, Kind: "sweep", Every: 10 * time.Minute, Do: func(context.Context, *jobs.Held) (string, error) {
		done <- true
		return "", nil
	}}
	run(t, q)
	due := func(at time.Time) {
		t.Helper()
		for t.Context().Err() == nil {
			changed := s.Wait(jobs.Topic)
			var ms int64
			if err := s.Row(t.Context(), "SELECT coalesce(max(run_at), 0) FROM job", nil, &ms); err != nil {
				t.Fatal(err)
			} else if ms == store.Millis(at) {
				return
			}
			<-changed
		}
	}
	due(begun.Add(time.Hour + 10*time.Minute))
	clock.Set(t, begun, jobs.Topic)
	due(begun.Add(10 * time.Minute))
	clock.Set(t, begun.Add(time.Hour), jobs.Topic)
	<-done
	due(begun.Add(time.Hour + 10*time.Minute))
	clock.Set(t, begun, jobs.Topic)
	due(begun.Add(10 * time.Minute))
}

// TestLanes has jobs of two lanes, of which some are done again. Those of a lane keep their order.
func TestLanes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var mu sync.Mutex
		done := map[string][]string{}
		q := &jobs.Queue{Store: s, Kind: "k", Slots: 4, Always: true}
		q.Do = func(_ context.Context, h *jobs.Held) (string, error) {
			if h.Attempt < 3 && strings.HasSuffix(h.Payload, "2") {
				return "", &jobs.Again{After: time.Millisecond, Err: errors.New("later"), Also: func(tx *store.Tx) error {
					return tx.Changed("again", h.ID)
				}}
			}
			mu.Lock()
			defer mu.Unlock()
			lane := h.Payload[:1]
			done[lane] = append(done[lane], h.Payload)
			return "", nil
		}
		var ids []string
		for i := range 12 {
			lane := string(rune('a' + i%2))
			id, _ := enqueue(t, q, jobs.New{Lane: lane, Payload: fmt.Sprint(lane, i/2), Attempts: 1})
			ids = append(ids, id)
		}
		run(t, q)
		for _, id := range ids {
			if j := await(t, q, id); j.State != jobs.Done {
				t.Errorf("%+v", j)
			}
		}
		for _, lane := range []string{"a", "b"} {
			if !slices.IsSorted(done[lane]) || len(done[lane]) != 6 {
				t.Errorf("done: %v", done[lane])
			}
		}
		if list, err := s.Changes(t.Context(), store.Cursor{}, 100, "again"); err != nil || len(list) != 4 {
			t.Errorf("done again %d times, %v", len(list), err)
		}
	})
}

// TestEvery: a queue has one job for all its processes, which is done again after errors as well.
func TestEvery(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var times atomic.Int64
		for range 2 {
			run(t, &jobs.Queue{Store: s, Kind: "sweep", Every: time.Millisecond, Do: func(context.Context, *jobs.Held) (string, error) {
				if times.Add(1) == 2 {
					return "", errors.New("it has failed")
				}
				return "", nil
			}})
		}
		for times.Load() < 4 && t.Context().Err() == nil {
			<-s.Wait(jobs.Topic)
		}
		var n int
		if err := s.Row(t.Context(), "SELECT count(*) FROM job", nil, &n); err != nil || n != 1 {
			t.Errorf("there are %d jobs, %v", n, err)
		}
	})
}

// TestEverySurvivesTheEndOfRun: the job of a queue with Every is queued again also if it succeeds while Run ends.
func TestEverySurvivesTheEndOfRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, stop := context.WithCancel(t.Context())
		q := &jobs.Queue{Store: s, Kind: "sweep", Every: time.Millisecond, Do: func(context.Context, *jobs.Held) (string, error) {
			stop()
			return "", nil
		}}
		q.Run(ctx)
		var state string
		if err := s.Row(t.Context(), "SELECT state FROM job", nil, &state); err != nil || state != "queued" {
			t.Errorf("the job is %s, %v", state, err)
		}
	})
}

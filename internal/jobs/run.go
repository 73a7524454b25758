package jobs

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

const (
	defaultLease = 15 * time.Second
	defaultKeep  = time.Hour
	// gather is the time for several changes to be looked at together.
	gather = 20 * time.Millisecond
	// pause is the time before another attempt after an error of the store.
	pause = time.Second
)

// A Held is a job that this process does.
type Held struct {
	Job
	stop context.CancelCauseFunc
}

// Save keeps the state of the work, from which another process goes on if this one
// dies. If the job was lost the error is [ErrLost], and the caller must return it, so
// that nothing of the transaction is written.
func (h *Held) Save(t *store.Tx, state string) error {
	return h.own(t.Exec("UPDATE job SET saved = $3 WHERE id = $1 AND attempt = $2 AND state = 'running'",
		h.ID, h.Attempt, state))
}

// cancelled is the cause of the context of a cancelled job.
type cancelled struct{ reason string }

func (c cancelled) Error() string        { return "cancelled: " + c.reason }
func (c cancelled) Is(target error) bool { return target == ErrCancelled }

// own is the error of a statement that changes the row of the holder.
func (h *Held) own(rows int64, err error) error {
	if err == nil && rows == 0 {
		return ErrLost
	}
	return err
}

// A runner is one Run of a queue.
type runner struct {
	*Queue
	lease  time.Duration
	holder string
	log    *slog.Logger
	work   sync.WaitGroup

	mu   sync.Mutex
	held map[string]*Held
}

// Start begins to do jobs in the background, if it was not called before.
func (q *Queue) Start() {
	q.start.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		q.stop = cancel
		q.working.Go(func() { q.Run(ctx) })
	})
}

// Close ends what Start has begun, and waits until it has ended. After it Start does nothing.
func (q *Queue) Close() error {
	q.start.Do(func() { q.stop = func() {} })
	q.stop()
	q.working.Wait()
	return nil
}

// Run does the jobs that are due until the context ends and the functions that do them
// have returned.
func (q *Queue) Run(ctx context.Context) {
	r := &runner{
		Queue: q, lease: cmp.Or(q.Lease, defaultLease), holder: store.NewID(), log: q.Log, held: map[string]*Held{},
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.work.Go(func() { r.watch(ctx) })
	slots := make(chan struct{}, max(q.Slots, 1))
	for ctx.Err() == nil {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		h, jobCtx, err := r.claim(ctx)
		if err != nil {
			<-slots
			if ctx.Err() == nil {
				r.log.Warn("cannot claim a job; trying again", "kind", q.Kind, "err", err)
				_ = clock.Sleep(ctx, pause)
			}
			continue
		}
		r.work.Go(func() {
			defer func() { <-slots }()
			r.do(jobCtx, h)
		})
	}
	r.work.Wait()
}

// claim takes the job that is due first. It waits until there is one.
func (r *runner) claim(ctx context.Context) (h *Held, jobCtx context.Context, err error) {
	err = r.Store.Claim(ctx, Topic, "SELECT run_at - {{now}} FROM job WHERE "+ready+" ORDER BY run_at LIMIT 1",
		[]any{r.Kind}, func(ctx context.Context) (taken bool, err error) {
			h, jobCtx, err = r.take(ctx)
			return h != nil, err
		})
	return h, jobCtx, err
}

// ready selects the queued jobs of a kind that no pause covers.
const (
	ready  = "kind = $1 AND state = 'queued' AND NOT EXISTS (SELECT 1 " + paused + ")"
	paused = "FROM pause WHERE pause.agent IN ('', job.agent) AND pause.session IN ('', job.owner)"
)

// take takes a job that is due, or returns nil.
func (r *runner) take(ctx context.Context) (h *Held, jobCtx context.Context, err error) {
	var list []Job
	err = r.Store.Update(ctx, func(t *store.Tx) (err error) {
		list, err = store.List(t, `WITH due AS MATERIALIZED (
				SELECT id FROM job WHERE `+ready+` AND run_at <= {{now}}
				ORDER BY run_at LIMIT 1 {{skip}})
			UPDATE job SET state = 'running', holder = $2, attempt = attempt + 1, run_at = {{now}} + $3
			WHERE id IN (SELECT id FROM due) RETURNING `+columns, []any{r.Kind, r.holder, r.lease.Milliseconds()}, scan)
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, nil, err
	}
	h = &Held{Job: list[0]}
	jobCtx, h.stop = context.WithCancelCause(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held[h.ID] = h
	return h, jobCtx, nil
}

// do does a job and writes what came of it.
func (r *runner) do(ctx context.Context, h *Held) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.held, h.ID)
		h.stop(nil)
	}()
	result, err := r.protected(ctx, h)
	for {
		switch failure := r.finish(ctx, h, result, err); {
		case failure == nil:
			return
		case errors.Is(failure, ErrLost):
			r.log.Debug("a job was lost", "kind", h.Kind, "id", h.ID)
			return
		case ctx.Err() != nil: // the lease expires, and another process does it
			r.log.Warn("cannot write the end of a job", "kind", h.Kind, "id", h.ID, "err", failure)
			return
		default:
			r.log.Warn("cannot write the end of a job; trying again", "kind", h.Kind, "id", h.ID, "err", failure)
			_ = clock.Sleep(ctx, pause)
		}
	}
}

// protected calls Do. A panic fails the job.
func (r *runner) protected(ctx context.Context, h *Held) (result string, err error) {
	defer func() {
		if p := recover(); p != nil {
			r.log.Error("a job panicked", "kind", h.Kind, "id", h.ID, "panic", p)
			err = errors.New("an internal error ended it")
		}
	}()
	return r.Do(ctx, h)
}

// finish ends a job, or gives it back if it was interrupted by the end of Run.
func (r *runner) finish(ctx context.Context, h *Held, result string, failure error) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrLost) {
		return ErrLost
	}
	interrupted := failure != nil && cause != nil && !errors.Is(cause, ErrCancelled)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.lease)
	defer cancel()
	return r.Store.Update(ctx, func(t *store.Tx) error {
		const own = "id = $1 AND attempt = $2 AND state = 'running'"
		if interrupted {
			if err := h.own(t.Exec(`UPDATE job SET state = 'queued', run_at = created, attempts = attempts + 1
				WHERE `+own+` AND stop = ''`, h.ID, h.Attempt)); err == nil {
				return t.Changed(Topic, h.ID)
			} else if !errors.Is(err, ErrLost) {
				return err
			}
		}
		state, reason, text := "'done'", "''", ""
		if stopped := (cancelled{}); failure != nil && errors.As(cause, &stopped) {
			state, reason, text = "'cancelled'", "$3", stopped.reason
		} else if failure != nil {
			state = "CASE WHEN stop = '' THEN 'failed' ELSE 'cancelled' END"
			reason, text = "CASE WHEN stop = '' THEN $3 ELSE stop END", failure.Error()
		}
		if _, err := t.Exec("UPDATE job SET result = $3 WHERE "+own, h.ID, h.Attempt, result); err != nil {
			return err
		}
		args := []any{h.ID, h.Attempt, text}
		if failure == nil {
			args = args[:2]
		}
		list, err := r.end(t, own, state, reason, args...)
		return h.own(int64(len(list)), err)
	})
}

// watch renews the leases of this process, stops jobs that were cancelled or lost, and
// ends or gives back those of dead processes.
func (r *runner) watch(ctx context.Context) {
	ticker := time.NewTicker(r.lease / 5)
	defer ticker.Stop()
	renewed, swept := time.Now(), time.Time{}
	renew := true
	for {
		changed := r.Store.Wait(Topic)
		begun := time.Now()
		err := r.look(ctx, renew)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil && renew:
			renewed = begun
		case err != nil && time.Since(renewed) > r.lease:
			r.log.Warn("the leases of jobs cannot be renewed", "kind", r.Kind, "err", err)
			r.stopIf(func(*Held) error { return ErrLost })
		}
		if time.Since(swept) > time.Minute && err == nil {
			swept = time.Now()
			if err := r.forget(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("cannot delete old jobs", "kind", r.Kind, "err", err)
			}
			if err := r.followClock(ctx); err != nil && ctx.Err() == nil {
				r.log.Warn("cannot look for jobs from before the clock was set back", "kind", r.Kind, "err", err)
			}
		}
		renew = false
		select {
		case <-changed:
			_ = clock.Sleep(ctx, gather)
		case <-ticker.C:
			renew = true
		case <-ctx.Done():
			return
		}
	}
}

// stopIf stops the held jobs for which why returns an error.
func (r *runner) stopIf(why func(*Held) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.held {
		if err := why(h); err != nil {
			h.stop(err)
		}
	}
}

// attempts returns the attempts of the held jobs.
func (r *runner) attempts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make(map[string]int, len(r.held))
	for id, h := range r.held {
		list[id] = h.Attempt
	}
	return list
}

// look reads the running jobs once, and acts on them.
func (r *runner) look(ctx context.Context, renew bool) error {
	known := r.attempts() // before the rows are read
	if renew && len(known) > 0 {
		if err := r.Store.Update(ctx, func(t *store.Tx) error {
			_, err := t.Exec(`UPDATE job SET run_at = {{now}} + $3
				WHERE kind = $1 AND state = 'running' AND holder = $2`, r.Kind, r.holder, r.lease.Milliseconds())
			return err
		}); err != nil {
			return err
		}
	}
	rows, expired := map[string]Job{}, 0
	if err := r.Store.View(ctx, func(t *store.Tx) error {
		clear(rows)
		expired = 0
		now, err := t.Now()
		if err != nil {
			return err
		}
		return t.Each(`SELECT id, attempt, run_at,
				CASE WHEN stop = '' THEN coalesce((SELECT max(pause.reason) `+paused+`), '') ELSE stop END
			FROM job WHERE kind = $1 AND state = 'running'`, []any{r.Kind}, func(scan store.Scan) error {
			var j Job
			var due int64
			err := scan(&j.ID, &j.Attempt, &due, &j.Stop)
			rows[j.ID] = j
			if due <= now || due > now+r.tooFar() {
				expired++
			}
			return err
		})
	}); err != nil {
		return err
	}
	r.stopIf(func(h *Held) error {
		switch j := rows[h.ID]; {
		case known[h.ID] != h.Attempt:
			return nil // begun after the rows were read
		case j.Attempt != h.Attempt:
			return ErrLost
		case j.Stop != "":
			return cancelled{j.Stop}
		}
		return nil
	})
	if expired == 0 {
		return nil
	}
	return r.Store.Update(ctx, r.expire)
}

// tooFar is how far in the future, in milliseconds, no lease ends unless the clock of the database was set back.
func (r *runner) tooFar() int64 { return 2 * r.lease.Milliseconds() }

// expire handles the jobs with an expired lease: the process that did them has died
// or cannot reach the store. A lease that was made before the clock was set back ends a lease
// from now: a holder that works renews it until then.
func (r *runner) expire(t *store.Tx) error {
	if _, err := t.Exec(`UPDATE job SET run_at = {{now}} + $2
		WHERE kind = $1 AND state = 'running' AND run_at > {{now}} + $3`, r.Kind, r.lease.Milliseconds(),
		r.tooFar()); err != nil {
		return err
	}
	const expired = "kind = $1 AND state = 'running' AND run_at <= {{now}}"
	_, err := r.end(t, expired+" AND (stop <> '' OR attempt >= attempts)",
		"CASE WHEN stop = '' THEN 'failed' ELSE 'cancelled' END", "CASE WHEN stop = '' THEN $2 ELSE stop END", r.Kind,
		"the server that worked on it ended or lost its database")
	if err != nil {
		return err
	}
	ids, err := store.List(t, "UPDATE job SET state = 'queued', run_at = created WHERE "+expired+" RETURNING id",
		[]any{r.Kind}, store.One[string])
	for _, id := range ids {
		err = errors.Join(err, t.Changed(Topic, id))
	}
	return err
}

// forget deletes jobs that ended long ago.
func (r *runner) forget(ctx context.Context) error {
	return r.Store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM job WHERE kind = $1 AND ended > 0 AND ended <= {{now}} - $2",
			r.Kind, cmp.Or(r.Keep, defaultKeep).Milliseconds())
		return err
	})
}

// setBack is by how much the clock of the database must have been set back for followClock to act. Less is
// over after as long.
const setBack = time.Minute

// followClock handles queued jobs that were added at a time that the clock of the database has not reached: it
// was set back since. Those that were due at once are due now, and the others are passed to Ahead.
func (r *runner) followClock(ctx context.Context) error {
	const ahead = "kind = $1 AND state = 'queued' AND created > {{now}} + $2"
	args := []any{r.Kind, setBack.Milliseconds()}
	var found bool
	if err := r.Store.Row(ctx, "SELECT EXISTS (SELECT 1 FROM job WHERE "+ahead+")", args, &found); err != nil ||
		!found {
		return err
	}
	return r.Store.Update(ctx, func(t *store.Tx) error {
		list, err := store.List(t, "SELECT "+columns+" FROM job WHERE "+ahead+" {{lock}}", args, scan)
		if err != nil {
			return err
		}
		for _, j := range list {
			if _, err := t.Exec(`UPDATE job SET created = {{now}},
				run_at = CASE WHEN run_at <= created THEN {{now}} ELSE run_at END WHERE id = $1`, j.ID); err != nil {
				return err
			}
			if err := t.Changed(Topic, j.ID); err != nil {
				return err
			}
			if r.Ahead == nil || !j.Due.After(j.Created) {
				continue
			}
			if err := r.Ahead(t, j); err != nil {
				return err
			}
		}
		return nil
	})
}

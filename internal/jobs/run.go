package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

const (
	defaultLease = 15 * time.Second
	defaultKeep  = time.Hour
	// pause is the time before another attempt after an error of the store.
	pause = time.Second
	// claimedWait is the time after which a job that is due is looked at again: another process takes it.
	claimedWait = 20 * time.Millisecond
	// tidyEvery is the shortest time between two deletions of old jobs.
	tidyEvery = time.Minute
)

// A Held is a job that this process does. Its lease is renewed until the function of the queue returns. If that fails,
// the context ends and Save returns [ErrLost]: another process may do the job by now.
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

// A Loop does the jobs of the queues of a process. It looks at the store when jobs have changed, and when the next one
// is due or the lease of another process ends; in between it does nothing.
type Loop struct {
	store  *store.Store
	log    *slog.Logger
	holder string

	clock  time.Time // of the database, at the last look
	looked time.Time // when that was

	mu     sync.Mutex
	active []*active
	stop   context.CancelFunc // nil without a queue
	ended  chan struct{}      // closed when the goroutine has ended
}

// An active queue is one whose jobs this process does: one Run.
type active struct {
	*Queue
	lease   time.Duration
	slots   int
	ctx     context.Context // of the jobs
	work    sync.WaitGroup
	tidied  time.Time
	renewed time.Time // when the leases of the held jobs were renewed, or the first of them was taken

	held map[string]*Held // with the mutex of the Loop
}

// NewLoop returns a Loop without queues.
func NewLoop(s *store.Store, log *slog.Logger) *Loop {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Loop{store: s, log: log, holder: store.NewID()}
}

// Start begins to do jobs in the background, if it was not called before.
func (q *Queue) Start() {
	q.start.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		q.stop = cancel
		q.working.Go(func() { q.Run(ctx) })
	})
}

// Close ends the work of Start, and waits for its end. After it Start does nothing.
func (q *Queue) Close() error {
	q.start.Do(func() { q.stop = func() {} })
	q.stop()
	q.working.Wait()
	return nil
}

// Run does the jobs that are due until the context ends and the functions that do them
// have returned.
func (q *Queue) Run(ctx context.Context) {
	l := q.Loop
	if l == nil {
		l = NewLoop(q.Store, q.Log)
	}
	a := &active{
		Queue: q, lease: cmp.Or(q.Lease, defaultLease), slots: max(q.Slots, 1), ctx: ctx, held: map[string]*Held{},
	}
	l.add(a)
	<-ctx.Done()
	l.settle() // jobs that begin now are counted now
	a.work.Wait()
	l.remove(a)
}

// settle waits until nobody changes the loop.
func (l *Loop) settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

func (l *Loop) add(a *active) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.active = append(l.active, a)
	if l.stop != nil {
		l.store.Poke(Topic)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	l.stop, l.ended = cancel, ended
	go func() {
		defer close(ended)
		l.run(ctx)
	}()
}

func (l *Loop) remove(a *active) {
	l.mu.Lock()
	l.active = slices.DeleteFunc(l.active, func(other *active) bool { return other == a })
	last, stop, ended := len(l.active) == 0, l.stop, l.ended
	if last {
		l.stop = nil
	}
	l.mu.Unlock()
	if last {
		stop()
		<-ended
	}
}

func (l *Loop) run(ctx context.Context) {
	for l.store.View(ctx, func(*store.Tx) error { return nil }) != nil && clock.Sleep(ctx, pause) == nil { // opens it
	}
	failing := false
	l.store.Work(ctx, "", func(ctx context.Context) (time.Duration, error) {
		next, err := l.step(ctx)
		if err != nil && ctx.Err() == nil {
			if !failing {
				l.log.Warn("jobs cannot be read; trying again", "err", err)
			}
			next = pause
		}
		failing = err != nil
		return next, nil
	}, Topic)
}

// queues returns the active queues.
func (l *Loop) queues() []*active {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.active)
}

// step renews leases, stops jobs that were cancelled or lost, ends or gives back the jobs of
// dead processes, and begins due jobs. It returns when there is something to do again.
func (l *Loop) step(ctx context.Context) (next time.Duration, err error) {
	list := l.queues()
	if len(list) == 0 {
		return 0, nil
	}
	if err := l.renew(ctx, list); err != nil {
		return 0, err
	}
	s, err := l.look(ctx, list)
	if err != nil {
		return 0, err
	}
	jumped := l.jumped(s.now)
	for _, a := range list {
		if s.expired[a.Kind] {
			if err := a.Store.Update(ctx, func(t *store.Tx) error { return a.expire(t, s.adrift) }); err != nil {
				return 0, err
			}
			s.next = time.Millisecond
		}
		if left, some := s.due[a.Kind]; some && left > 0 {
			s.soon(left)
		} else if some && a.Able != nil && !a.Able() {
			s.soon(pause)
		} else if some {
			begun, err := l.begin(ctx, a)
			if err != nil {
				return 0, err
			}
			if s.soon(claimedWait); begun {
				s.next = time.Millisecond
			}
		}
		if jumped || time.Since(a.tidied) > tidyEvery {
			a.tidied = time.Now()
			if err := errors.Join(a.forget(ctx), a.followClock(ctx), a.addOnce(ctx)); err != nil {
				return 0, err
			}
		}
		if left, some := l.renewal(a); some {
			s.soon(max(left, time.Millisecond))
		}
		s.soon(a.keep())
	}
	return s.next, nil
}

// keep is how long jobs are kept after their end.
func (q *Queue) keep() time.Duration { return max(cmp.Or(q.Keep, defaultKeep), tidyEvery) }

// A sight is the result of look.
type sight struct {
	now     time.Time                // of the clock of the database
	due     map[string]time.Duration // how long until the next job of a kind is due, if a queue has a free slot
	expired map[string]bool          // the kinds with jobs of dead processes, or that are adrift
	adrift  []Job                    // that this process has begun, by their rows, but does not do
	next    time.Duration            // until the loop looks again
}

// jumped reports whether the clock of the database was set since the last look.
func (l *Loop) jumped(now time.Time) bool {
	before, elapsed := l.clock, time.Since(l.looked)
	l.clock, l.looked = now, time.Now()
	return !before.IsZero() && (now.Sub(before)-elapsed).Abs() > setBack
}

// soon makes the loop look again after a duration, if not before.
func (s *sight) soon(d time.Duration) {
	if s.next == 0 || d < s.next {
		s.next = d
	}
}

// renewal returns when the leases of held jobs are to be renewed.
func (l *Loop) renewal(a *active) (left time.Duration, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return a.lease/5 - time.Since(a.renewed), len(a.held) > 0
}

// renew renews the leases that it is time for. If that fails for longer than a lease, the jobs are lost.
func (l *Loop) renew(ctx context.Context, list []*active) error {
	list = slices.DeleteFunc(slices.Clone(list), func(a *active) bool {
		left, some := l.renewal(a)
		return !some || left > 0
	})
	if len(list) == 0 {
		return nil
	}
	begun := time.Now()
	err := l.store.Update(ctx, func(t *store.Tx) error {
		for _, a := range list {
			if _, err := t.Exec(`UPDATE job SET run_at = {{now}} + $3
				WHERE kind = $1 AND state = 'running' AND holder = $2`, a.Kind, l.holder,
				a.lease.Milliseconds()); err != nil {
				return err
			}
		}
		return nil
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range list {
		if err == nil {
			a.renewed = begun
		} else if time.Since(a.renewed) > a.lease {
			for _, h := range a.held {
				h.stop(ErrLost)
			}
		}
	}
	return err
}

// ready selects the queued jobs of a kind that can begin when they are due: those that are the next of their lane, if
// they have one, and that no pause covers, unless always is 1.
func ready(kind, always string) string {
	return `job.kind = ` + kind + ` AND job.state = 'queued' AND (job.lane = '' OR NOT EXISTS (SELECT 1 FROM job AS other
			WHERE other.lane <> '' AND other.lane = job.lane AND other.ended = 0 AND other.id < job.id))
		AND (` + always + ` = 1 OR NOT EXISTS (SELECT 1 ` + paused + `))`
}

const paused = "FROM pause WHERE pause.agent IN ('', job.agent) AND pause.session IN ('', job.owner)"

// always is 1 for a queue with Always, for [ready].
func (q *Queue) always() int {
	if q.Always {
		return 1
	}
	return 0
}

// look reads the running jobs and when the next ones are due, of all queues with one statement, and stops the held
// jobs that were cancelled or lost.
func (l *Loop) look(ctx context.Context, list []*active) (s sight, err error) {
	known, free := map[string]int{}, map[string]bool{} // before the rows are read
	ofKind := map[string]*active{}
	l.mu.Lock()
	for _, a := range list {
		ofKind[a.Kind] = a
		free[a.Kind] = free[a.Kind] || a.free()
		for id, h := range a.held {
			known[id] = h.Attempt
		}
	}
	l.mu.Unlock()
	s = sight{due: map[string]time.Duration{}, expired: map[string]bool{}}
	rows := map[string]Job{}
	var args []any
	var values []string
	for _, kind := range slices.Sorted(maps.Keys(ofKind)) {
		args = append(args, kind, ofKind[kind].always())
		values = append(values, fmt.Sprintf("(CAST($%d AS TEXT), CAST($%d AS INTEGER))", len(args)-1, len(args)))
	}
	text := `WITH k (name, always) AS (VALUES ` + strings.Join(values, ", ") + `)
		SELECT '', '', '', 0, {{now}}, '', ''
		UNION ALL SELECT id, kind, holder, attempt, run_at - {{now}}, stop, CASE WHEN k.always = 1 THEN ''
			ELSE coalesce((SELECT max(pause.reason) ` + paused + `), '') END
		FROM job JOIN k ON job.kind = k.name WHERE job.state = 'running'
		UNION ALL SELECT '', k.name, '', 0, next.run_at - {{now}}, '', '' FROM k JOIN job AS next ON next.id =
			(SELECT job.id FROM job WHERE ` + ready("k.name", "k.always") + ` ORDER BY job.run_at LIMIT 1)`
	if _, err := store.Select(ctx, l.store, text, args, func(scan store.Scan) (none struct{}, err error) {
		var j Job
		var holder, pause string
		var ms int64
		if err := scan(&j.ID, &j.Kind, &holder, &j.Attempt, &ms, &j.Stop, &pause); err != nil {
			return none, err
		}
		left := time.Duration(ms) * time.Millisecond
		if j.Kind == "" {
			s.now = store.FromMillis(ms)
			return none, nil
		} else if j.ID == "" {
			if free[j.Kind] {
				s.due[j.Kind] = left
			}
			return none, nil
		}
		j.Stop = cmp.Or(j.Stop, pause)
		rows[j.ID] = j
		switch {
		case left <= 0 || left > tooFar(ofKind[j.Kind].lease):
			s.expired[j.Kind] = true
		case holder == l.holder && known[j.ID] != j.Attempt: // the answer of the database was lost that it was begun
			s.expired[j.Kind] = true
			s.adrift = append(s.adrift, j)
		case holder != l.holder:
			s.soon(left + time.Millisecond)
		}
		return none, nil
	}); err != nil {
		return s, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, a := range list {
		for id, h := range a.held {
			switch j := rows[id]; {
			case known[id] != h.Attempt: // begun after the rows were read
			case j.Attempt != h.Attempt:
				h.stop(ErrLost)
			case j.Stop != "":
				h.stop(cancelled{j.Stop})
			}
		}
	}
	return s, nil
}

// free reports whether a queue may begin a job. The mutex of the Loop is locked.
func (a *active) free() bool { return len(a.held) < a.slots && a.ctx.Err() == nil }

// begin begins a job of a queue that is due, if no other process does.
func (l *Loop) begin(ctx context.Context, a *active) (begun bool, err error) {
	l.mu.Lock()
	if a.ctx.Err() != nil {
		l.mu.Unlock()
		return false, nil
	}
	a.work.Add(1)
	l.mu.Unlock()
	defer a.work.Done()
	var list []Job
	if err := a.Store.Update(ctx, func(t *store.Tx) (err error) {
		list, err = store.List(t, `WITH due AS MATERIALIZED (
				SELECT id FROM job WHERE `+ready("$1", "$4")+` AND run_at <= {{now}}
				ORDER BY run_at LIMIT 1 {{skip}})
			UPDATE job SET state = 'running', holder = $2, attempt = attempt + 1, run_at = {{now}} + $3
			WHERE id IN (SELECT id FROM due) RETURNING `+columns,
			[]any{a.Kind, l.holder, a.lease.Milliseconds(), a.always()}, scan)
		return err
	}); err != nil || len(list) == 0 {
		return false, err
	}
	h := &Held{Job: list[0]}
	jobCtx, stop := context.WithCancelCause(a.ctx)
	h.stop = stop
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(a.held) == 0 {
		a.renewed = time.Now()
	}
	a.held[h.ID] = h
	a.work.Go(func() { l.do(jobCtx, a, h) })
	return true, nil
}

// do does a job and writes its outcome.
func (l *Loop) do(ctx context.Context, a *active, h *Held) {
	defer func() {
		l.mu.Lock()
		if a.held[h.ID] == h { // it may have been begun again
			delete(a.held, h.ID)
		}
		l.mu.Unlock()
		h.stop(nil)
		l.store.Poke(Topic) // a slot is free
	}()
	result, err := l.protected(ctx, a, h)
	for {
		switch failure := a.finish(ctx, h, result, err); {
		case failure == nil:
			return
		case errors.Is(failure, ErrLost):
			l.log.Debug("a job was lost", "kind", h.Kind, "id", h.ID)
			return
		case ctx.Err() != nil: // the lease expires, and another process does it
			l.log.Warn("cannot write the end of a job", "kind", h.Kind, "id", h.ID, "err", failure)
			return
		default:
			l.log.Warn("cannot write the end of a job; trying again", "kind", h.Kind, "id", h.ID, "err", failure)
			_ = clock.Sleep(ctx, pause)
		}
	}
}

// protected calls Do. A panic fails the job.
func (l *Loop) protected(ctx context.Context, a *active, h *Held) (result string, err error) {
	defer func() {
		if a.Every == 0 || err != nil && ctx.Err() != nil { // interrupted: finish gives it back
			return
		}
		if err != nil {
			l.log.Warn("a job that is done again and again has failed", "kind", a.Kind, "err", err)
		}
		err = &Again{After: a.Every, Err: errors.Join(errEvery, err)}
	}()
	defer func() {
		if p := recover(); p != nil {
			l.log.Error("a job panicked", "kind", h.Kind, "id", h.ID, "panic", p)
			err = errors.New("an internal error ended it")
		}
	}()
	return a.Do(ctx, h)
}

// finish ends a job, or gives it back if it was interrupted by the end of Run.
func (a *active) finish(ctx context.Context, h *Held, result string, failure error) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ErrLost) {
		return ErrLost
	}
	interrupted := failure != nil && cause != nil && !errors.Is(cause, ErrCancelled)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.lease)
	defer cancel()
	return a.Store.Update(ctx, func(t *store.Tx) error {
		const own = "id = $1 AND attempt = $2 AND state = 'running'"
		if again := (*Again)(nil); errors.As(failure, &again) && !errors.Is(cause, ErrCancelled) {
			if err := h.own(t.Exec(`UPDATE job SET state = 'queued', run_at = {{now}} + $3, timed = {{now}}, attempts = attempts + 1,
					saved = CASE WHEN $4 = '' THEN saved ELSE $4 END
				WHERE `+own+` AND stop = ''`, h.ID, h.Attempt, again.After.Milliseconds(), again.Save)); err == nil {
				if again.Also != nil {
					err = again.Also(t)
				}
				return errors.Join(err, t.Changed(Topic, h.ID))
			} else if !errors.Is(err, ErrLost) {
				return err
			}
		}
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
		list, err := a.end(t, own, state, reason, args...)
		return h.own(int64(len(list)), err)
	})
}

// tooFar is how far in the future no lease ends unless the clock of the database was set back.
func tooFar(lease time.Duration) time.Duration { return 2 * lease }

// expire handles the jobs with an expired lease: the process that did them has died
// or cannot reach the store. A lease that was made before the clock was set back ends a lease
// from now: a holder that works renews it until then. The lease of a job that is adrift ends now.
func (a *active) expire(t *store.Tx, adrift []Job) error {
	for _, j := range adrift {
		if _, err := t.Exec("UPDATE job SET run_at = {{now}} WHERE id = $1 AND attempt = $2 AND state = 'running'",
			j.ID, j.Attempt); err != nil {
			return err
		}
	}
	if _, err := t.Exec(`UPDATE job SET run_at = {{now}} + $2
		WHERE kind = $1 AND state = 'running' AND run_at > {{now}} + $3`, a.Kind, a.lease.Milliseconds(),
		tooFar(a.lease).Milliseconds()); err != nil {
		return err
	}
	const expired = "kind = $1 AND state = 'running' AND run_at <= {{now}}"
	_, err := a.end(t, expired+" AND (stop <> '' OR attempt >= attempts)",
		"CASE WHEN stop = '' THEN 'failed' ELSE 'cancelled' END", "CASE WHEN stop = '' THEN $2 ELSE stop END", a.Kind,
		"the server that worked on it ended or lost its database")
	if err != nil {
		return err
	}
	// The clock goes on between the statements: a lease that has ended since is handled in the next look.
	ids, err := store.List(t, "UPDATE job SET state = 'queued', run_at = created WHERE "+expired+
		" AND stop = '' AND attempt < attempts RETURNING id", []any{a.Kind}, store.One[string])
	for _, id := range ids {
		err = errors.Join(err, t.Changed(Topic, id))
	}
	return err
}

// forget deletes jobs that ended long ago.
func (a *active) forget(ctx context.Context) error {
	return a.Store.Update(ctx, func(t *store.Tx) error {
		_, err := t.Exec("DELETE FROM job WHERE kind = $1 AND ended > 0 AND ended <= {{now}} - $2",
			a.Kind, cmp.Or(a.Keep, defaultKeep).Milliseconds())
		return err
	})
}

var errEvery = errors.New("it is done again and again")

// addOnce adds the job of a queue with Every, if there is none.
func (a *active) addOnce(ctx context.Context) error {
	if a.Every == 0 {
		return nil
	}
	return a.Store.Update(ctx, func(t *store.Tx) error {
		_, _, err := a.Enqueue(t, New{Once: a.Kind, Attempts: AnyTimes, after: a.Every})
		return err
	})
}

// setBack is by how much the clock of the database must have been set back for followClock to act. Less is
// over after as long.
const setBack = time.Minute

// followClock handles queued jobs that were added or given back at a time that the clock of the database has
// not reached: it was set back since. Jobs that were due at once are due now, jobs that are done again
// keep their distance from now, and those for a time of the calendar are passed to Ahead.
func (a *active) followClock(ctx context.Context) error {
	const ahead = "kind = $1 AND state = 'queued' AND (created > {{now}} + $2 OR timed > {{now}} + $2)"
	args := []any{a.Kind, setBack.Milliseconds()}
	var found bool
	if err := a.Store.Row(ctx, "SELECT EXISTS (SELECT 1 FROM job WHERE "+ahead+")", args, &found); err != nil ||
		!found {
		return err
	}
	return a.Store.Update(ctx, func(t *store.Tx) error {
		again := map[string]bool{}
		list, err := store.List(t, "SELECT "+columns+", timed FROM job WHERE "+ahead+" {{lock}}", args,
			func(row store.Scan) (Job, error) {
				var timed int64
				j, err := scan(func(into ...any) error { return row(append(into, &timed)...) })
				again[j.ID] = timed > 0
				return j, err
			})
		if err != nil {
			return err
		}
		for _, j := range list {
			if _, err := t.Exec(`UPDATE job SET created = CASE WHEN created > {{now}} THEN {{now}} ELSE created END,
					timed = CASE WHEN timed > 0 THEN {{now}} ELSE 0 END,
					run_at = CASE WHEN timed > 0 THEN {{now}} + run_at - timed WHEN run_at <= created THEN {{now}} ELSE run_at END
				WHERE id = $1`, j.ID); err != nil {
				return err
			}
			if err := t.Changed(Topic, j.ID); err != nil {
				return err
			}
			if a.Ahead == nil || again[j.ID] || !j.Due.After(j.Created) {
				continue
			}
			if err := a.Ahead(t, j); err != nil {
				return err
			}
		}
		return nil
	})
}

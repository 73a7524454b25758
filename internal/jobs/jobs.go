// Package jobs is a queue of work that takes longer than a call, or that is due
// later. The jobs are rows of the store: they survive the end of every process, and
// any process that runs the queue may do them.
//
// A package with such work makes one [Queue] for its kind of job:
//
//	q := &jobs.Queue{Store: s, Kind: "subagent", Slots: 8, Do: do, Ended: tell}
//	go q.Run(ctx) // in processes that do the work
//
//	err := s.Update(ctx, func(t *store.Tx) (err error) {
//		id, _, err = q.Enqueue(t, jobs.New{Owner: session, Payload: task, Attempts: 3})
//		return err
//	})
//
// Enqueue, Cancel and Save take the transaction of the caller, so that a job and the
// rows that it is about change together or not at all.
//
// The process that does a job holds it under a lease, which it renews. If the process
// dies the lease expires and another process does the job again: from what was saved
// last by [Held.Save], with a higher attempt. What a former holder still saves or
// reports is refused with [ErrLost], and its context ends with it.
//
// [Queue.Cancel] ends a queued job at once, and the context of a running one within a
// second, in whichever process it runs; its cause is [ErrCancelled]. A job ends in one
// of the states [Done], [Failed] and [Cancelled], once. In the transaction that ends it
// [Queue.Ended] is called, for what must happen exactly once: a message to the owner,
// or the next job. After [Queue.Keep] the job is deleted.
//
// A job whose Do returns an [Again] is done again, after as long as that says. A queue with [Queue.Every] has one job
// for the whole store, such as the deletion of old rows.
//
// A pause (package pauses) of all callers, of the agent, or of the session that is the owner
// cancels running jobs. Others wait for its end.
//
// The feed has [Topic] with the id of a job when it is added, cancelled or ended. To
// wait for one or several, take [store.Store.Wait] of the topic before reading.
//
// The package does not know what the jobs are. Begin with [Queue].
package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Topic is the topic of all jobs in the change feed.
const Topic = "job"

// A Queue has the jobs of one kind. Store and Kind must be set, and Do in a process that
// does the jobs. Ended must be the same in all processes, since any of them may end a job.
//
// [Queue.Enqueue] adds a job in a transaction of the caller. [Queue.Run] does jobs until
// its context ends; [Queue.Start] and [Queue.Close] do the same in the background. A Queue
// must not be copied, or changed after its first use.
type Queue struct {
	Store *store.Store
	Loop  *Loop // does the jobs, together with other queues of the store; nil: a loop of its own
	Kind  string
	// Do does a job. An error fails it, with its text as the reason, which a model or a
	// person reads; the result is kept too. An error after the context has ended makes
	// the job cancelled if the cause was [ErrCancelled], and leaves it to another
	// process if the cause was the end of Run.
	Do func(ctx context.Context, h *Held) (result string, err error)
	// Ended is called in the transaction that ends a job, in whichever process that
	// happens. The transaction may be repeated. It may be nil.
	Ended func(t *store.Tx, j Job) error
	// Ahead is called for a queued job that was added to be due later, before the clock of the database was set
	// back to an earlier time. It may replace the job. Nil leaves its time as it is.
	Ahead func(t *store.Tx, j Job) error
	// Able reports whether this process can do jobs at present. While it cannot, it begins none and leaves them to
	// other processes. It is called before each job is begun. Nil: it always can.
	Able func() bool
	// Always means that no pause covers the jobs.
	Always bool
	// Every gives the queue one job, which Run adds. It never ends: some process does it again after as long, whatever
	// its error was. Zero: the queue has the jobs that are added.
	Every time.Duration
	Slots int           // jobs that Run does at once; 0 means 1
	Lease time.Duration // 0 means 15 s
	Keep  time.Duration // how long jobs are kept after their end; 0 means an hour
	Log   *slog.Logger  // nil is silent

	start   sync.Once
	stop    context.CancelFunc // set by Start
	working sync.WaitGroup
}

// A Job is a row of the queue. It is queued until it is due, then running in one process, and it ends once:
// [Queue.Ended] is called in that transaction. If the process dies its lease expires, and another process begins the
// next attempt.
type Job struct {
	ID       string
	Kind     string
	Owner    string // may see and cancel it, for example the key of a session
	Agent    string // the caller as which it runs
	Payload  string
	State    State
	Due      time.Time // of a queued job; the end of the lease of a running one
	Attempt  int       // how often it was begun; also the number that fences former holders
	Attempts int       // the maximum
	Saved    string    // the state of the last Held.Save
	Stop     string    // why it should stop, or ""
	Result   string    // of a job that is done
	Reason   string    // why it failed or was cancelled
	Created  time.Time
	Ended    time.Time
}

// A State is the state of a job.
type State string

// The states. The last three are final.
const (
	Queued    State = "queued"
	Running   State = "running"
	Done      State = "done"
	Failed    State = "failed"
	Cancelled State = "cancelled"
)

// Final reports whether a job in this state has ended.
func (s State) Final() bool { return s == Done || s == Failed || s == Cancelled }

var (
	// ErrLost means that another process has the job, or that it has ended.
	ErrLost = errors.New("another process has the job, or it has ended")
	// ErrCancelled is the cause, by [errors.Is], of the end of the context of a cancelled job.
	// Its text has the reason.
	ErrCancelled = errors.New("cancelled")
)

// Again is the error of [Queue.Do] for a job that is done again later, without counting the attempt. Also, if not nil,
// is called in the transaction that sets the new time: if the process dies before it, nothing of Also was written.
type Again struct {
	After time.Duration
	Err   error
	Save  string // the state from which the job goes on, as that of [Held.Save]; "" keeps the last one
	Also  func(t *store.Tx) error
}

func (a *Again) Error() string { return a.Err.Error() }
func (a *Again) Unwrap() error { return a.Err }

// A New describes a job for [Queue.Enqueue].
type New struct {
	Owner, Agent, Payload string

	ID       string    // "": a new one
	Lane     string    // of several jobs with the same one, the next begins when the one with the lowest id has ended
	Due      time.Time // zero: now
	Attempts int       // how often it may be begun when processes die; 0 means 1
	Once     string    // among the jobs of the store only one has this text; "" for none

	after time.Duration // in place of Due: from now
}

// AnyTimes is New.Attempts of a job that is begun again however many processes die.
const AnyTimes = 1_000_000_000

const columns = `id, kind, owner, agent, payload, state, run_at, attempt, attempts, saved, stop, result, reason,
	created, ended`

func scan(row store.Scan) (j Job, err error) {
	var due, created, ended int64
	err = row(&j.ID, &j.Kind, &j.Owner, &j.Agent, &j.Payload, &j.State, &due, &j.Attempt, &j.Attempts, &j.Saved,
		&j.Stop, &j.Result, &j.Reason, &created, &ended)
	j.Due, j.Created, j.Ended = store.FromMillis(due), store.FromMillis(created), store.FromMillis(ended)
	return j, err
}

// Enqueue adds a job. If there is one with the same Once, added is false.
func (q *Queue) Enqueue(t *store.Tx, n New) (id string, added bool, err error) {
	id = cmp.Or(n.ID, store.NewID())
	var once any
	if n.Once != "" {
		once = n.Once
	}
	rows, err := t.Exec(`INSERT INTO job (id, kind, once, owner, agent, payload, state, run_at, attempts, lane,
			created, timed)
		VALUES ($1, $2, $3, $4, $5, $6, 'queued', {{max}}($7, {{now}} + $10), $8, $9, {{now}},
			CASE WHEN $10 > 0 THEN {{now}} ELSE 0 END) ON CONFLICT (once) DO NOTHING`,
		id, q.Kind, once, n.Owner, n.Agent, n.Payload, store.Millis(n.Due), max(n.Attempts, 1), n.Lane,
		n.after.Milliseconds())
	if err != nil || rows == 0 {
		return "", false, err
	}
	return id, true, t.Changed(Topic, id)
}

// Cancel ends a queued job, and makes the holder of a running one stop. It returns
// the job as it is then; one that has ended before stays as it was. If there is no
// such job the error is [store.ErrNotFound].
func (q *Queue) Cancel(t *store.Tx, id, reason string) (j Job, err error) {
	reason = cmp.Or(reason, "cancelled")
	n, err := t.Exec("UPDATE job SET stop = $3 WHERE id = $1 AND kind = $2 AND state = 'running' AND stop = ''",
		id, q.Kind, reason)
	if err == nil && n > 0 {
		err = t.Changed(Topic, id)
	}
	if err != nil {
		return Job{}, err
	}
	if _, err := q.end(t, "id = $1 AND kind = $2 AND state = 'queued'", "'cancelled'", "$3", id, q.Kind,
		reason); err != nil {
		return Job{}, err
	}
	return q.Get(t, id)
}

// end ends the jobs that match where. Their state and reason are expressions of SQL.
func (q *Queue) end(t *store.Tx, where, state, reason string, args ...any) ([]Job, error) {
	list, err := store.List(t, `UPDATE job SET state = `+state+`, reason = `+reason+`, ended = {{now}}
		WHERE `+where+` RETURNING `+columns, args, scan)
	if err != nil {
		return nil, err
	}
	for _, j := range list {
		if err := t.Changed(Topic, j.ID); err != nil {
			return nil, err
		}
		if q.Ended == nil {
			continue
		}
		if err := q.Ended(t, j); err != nil {
			return nil, fmt.Errorf("at the end of job %s: %w", j.ID, err)
		}
	}
	return list, nil
}

// Get reads a job. Without one the error is [store.ErrNotFound].
func (q *Queue) Get(t *store.Tx, id string) (j Job, err error) {
	list, err := store.List(t, "SELECT "+columns+" FROM job WHERE id = $1 AND kind = $2", []any{id, q.Kind}, scan)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return Job{}, err
	}
	return list[0], nil
}

// Stop makes the holder of a running job of any kind stop, as [Queue.Cancel] does. Without one the error is
// [store.ErrNotFound].
func Stop(t *store.Tx, id, reason string) error {
	n, err := t.Exec("UPDATE job SET stop = $2 WHERE id = $1 AND state = 'running' AND stop = ''", id,
		cmp.Or(reason, "cancelled"))
	if err == nil && n == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return err
	}
	return t.Changed(Topic, id)
}

// AllRunning returns the running jobs of all kinds that somebody owns, in the order in which they were added.
func AllRunning(ctx context.Context, s *store.Store) ([]Job, error) {
	return store.Select(ctx, s, "SELECT "+columns+" FROM job WHERE state = 'running' AND owner <> '' ORDER BY id", nil, scan)
}

// List returns jobs of an owner, or of all owners if it is empty, in the order in which they
// were added. Without states it returns the jobs that have not ended.
func (q *Queue) List(t *store.Tx, owner string, states ...State) ([]Job, error) {
	if len(states) == 0 {
		states = []State{Queued, Running}
	}
	args := []any{q.Kind}
	where := "kind = $1 AND state IN (" + store.Params(&args, states...) + ")"
	if owner != "" {
		where += " AND owner = " + store.Params(&args, owner)
	}
	return store.List(t, "SELECT "+columns+" FROM job WHERE "+where+" ORDER BY id", args, scan)
}

package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/slots"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

// A ScheduledCall is a call that a job makes.
type ScheduledCall struct {
	Grant  tool.Grant
	Tool   string
	Args   json.RawMessage
	Parent string      // the call that made the job
	Asker  tool.Caller // whose client may be asked for approvals
}

// SchedulerOptions are the needs of a Scheduler.
type SchedulerOptions struct {
	Store *store.Store
	Jobs  *jobs.Loop // nil: one of its own
	// Able reports whether calls can be made at present; runs that are due are left to other processes until then.
	Able func() bool
	// Call makes a call through the pipeline of the server.
	Call func(ctx context.Context, c ScheduledCall) tool.Result
	// Revoked returns why the token of a grant is no longer valid, or "".
	Revoked func(ctx context.Context, g tool.Grant) (reason string, err error)
	// Failed is called in the transaction that ends a failed run. It may be nil.
	Failed func(t *store.Tx, owner tool.Owner, job, why string) error
	// Over ends the work that the calls of a caller have left behind.
	Over func(tool.Caller)
	Log  *slog.Logger
}

// A Scheduler runs jobs at the times of their schedules. The jobs are rows of the store,
// and the next run of each is a row of the queue: any process may do it, and one does.
type Scheduler struct {
	SchedulerOptions
	queue *jobs.Queue
	slots *slots.Queue // of this process; users get a fair share
}

// The limits of jobs.
const (
	// maxJobs is how many jobs one owner has.
	maxJobs = 500
	// runSlots is how many jobs one process runs at once; of one user at most half.
	runSlots = 64
	// maxDue is how many due jobs one process takes, and keeps waiting for a slot.
	maxDue = 2000
	// keptRuns is how many runs of a job are kept.
	keptRuns = 50
	// keptEnded is how long the history of a job is kept that has ended, and maxEnded for how many jobs of one owner.
	keptEnded = 7 * 24 * time.Hour
	maxEnded  = 100
	// maxRunOutput is the kept part of the output of a run, in bytes.
	maxRunOutput = 16 << 10
	// defaultLimit is how long a run may take, and maxLimit the most that a job can ask for.
	defaultLimit = 10 * time.Minute
	maxLimit     = 6 * time.Hour
	// late is how late a run may begin and still be on time.
	late = time.Minute
	// maxMissed is how many missed runs are made up for at most.
	maxMissed = 10
	// overlapWait is how long a run waits for the one before it at a time.
	overlapWait = 5 * time.Second
	// A recurring job that fails waits for firstPause, twice as long after each further
	// failure, and at most maxPause.
	firstPause = 30 * time.Second
	maxPause   = time.Hour
)

// NewScheduler returns a Scheduler. It runs nothing until Start.
func NewScheduler(o SchedulerOptions) *Scheduler {
	s := &Scheduler{SchedulerOptions: o}
	s.queue = &jobs.Queue{
		Store: o.Store, Loop: o.Jobs, Kind: "cron", Do: s.do, Ended: s.ended, Ahead: s.ahead, Able: o.Able, Slots: maxDue,
		Log: o.Log,
	}
	s.slots = slots.New(slots.Limits{Total: runSlots, Running: runSlots, Queued: maxDue})
	return s
}

// Start begins to run jobs that are due.
func (s *Scheduler) Start() { s.queue.Start() }

// Close stops the jobs that run in this process, and runs no others.
func (s *Scheduler) Close() error { return s.queue.Close() }

// A job is the body of a row of the table cron.
type job struct {
	Schedule schedule.Schedule
	Work     work
	Limit    time.Duration // of a run
	Overlap  string        // if a run is due while another one runs: skip, queue or cancel that one
	Missed   string        // runs that were due while no server ran: once, skip or all
	Retries  int           // of a run that fails; only for work that may be done twice
	Notify   string        // the runs to report to the owner's inbox: always, failure or never
	Delete   bool          // the job, when its last run has succeeded
	Grant    tool.Grant    // of the caller that made it
	Asker    tool.Caller
	Call     string // that made it
}

// work is the work of a job: the call of a tool, or a message to the owner's inbox.
type work struct {
	Tool    string          `json:",omitempty"`
	Args    json.RawMessage `json:",omitempty"`
	Message string          `json:",omitempty"`
}

// String describes w in one line.
func (w work) String() string {
	if w.Tool == "" {
		return fmt.Sprintf("message %q", text.ClipWords(w.Message, 80))
	}
	return w.Tool + " " + text.ClipWords(unescaped(w.Args), 120)
}

// unescaped returns JSON with < > & as they are. Go writes them as \u003c and so on, for web
// pages.
func unescaped(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	plain, err := text.JSON(v)
	if err != nil {
		return string(raw)
	}
	return string(plain)
}

// A savedJob is a job with the other columns of its row.
type savedJob struct {
	job
	ID, Name string
	Owner    tool.Owner
	Enabled  bool
	Next     time.Time // zero: never
	Queued   string    // the row of the queue for Next
	Failures int       // in a row
	Ended    time.Time // when its last run succeeded, if it is not listed any more; else zero
}

const jobColumns = "id, agent, usr, name, body, enabled, next_at, queued, failures, ended"

func scanJob(scan store.Scan) (j savedJob, err error) {
	var body string
	var next, ended int64
	var enabled int
	if err := scan(&j.ID, &j.Owner.Agent, &j.Owner.User, &j.Name, &body, &enabled, &next, &j.Queued,
		&j.Failures, &ended); err != nil {
		return j, err
	}
	j.Enabled = enabled != 0
	if ended != 0 {
		j.Ended = store.FromMillis(ended)
	}
	if next != 0 {
		j.Next = store.FromMillis(next)
	}
	return j, json.Unmarshal([]byte(body), &j.job)
}

// readJob reads and locks a job by its id.
func readJob(t *store.Tx, id string) (savedJob, error) {
	list, err := store.List(t, "SELECT "+jobColumns+" FROM cron WHERE id = $1 {{lock}}", []any{id}, scanJob)
	if err == nil && len(list) == 0 {
		err = store.ErrNotFound
	}
	if err != nil {
		return savedJob{}, err
	}
	return list[0], nil
}

// write writes the row of a job, with its next run in the queue.
func (j *savedJob) write(t *store.Tx) error {
	body, err := json.Marshal(j.job)
	if err != nil {
		return err
	}
	enabled := 0
	if j.Enabled {
		enabled = 1
	}
	var next, ended int64
	if !j.Next.IsZero() {
		next = store.Millis(j.Next)
	} else if !j.Ended.IsZero() {
		ended = store.Millis(j.Ended)
	}
	_, err = t.Exec(`INSERT INTO cron (`+jobColumns+`, created)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, {{now}})
		ON CONFLICT (id) DO UPDATE SET name = excluded.name, body = excluded.body, enabled = excluded.enabled,
			next_at = excluded.next_at, queued = excluded.queued, failures = excluded.failures,
			ended = excluded.ended`,
		j.ID, j.Owner.Agent, j.Owner.User, j.Name, string(body), enabled, next, j.Queued, j.Failures, ended)
	return err
}

// A due is the payload of a run in the queue.
type due struct {
	Cron    string
	Account string `json:",omitempty"` // whose share of the slots the run takes
	At      time.Time
	Manual  bool `json:",omitempty"` // it was asked for, and its schedule continues beside it
}

// plan puts the next run of an enabled job after a time into the queue, in place of the
// one that is there.
func (s *Scheduler) plan(t *store.Tx, j *savedJob, after time.Time) error {
	if j.Queued != "" {
		if _, err := s.queue.Cancel(t, j.Queued, "another time was set"); err != nil &&
			!errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	j.Queued, j.Next = "", time.Time{}
	if j.Enabled {
		j.Next = j.Schedule.Next(after)
	}
	if j.Next.IsZero() {
		return nil
	}
	id, err := s.enqueue(t, j, due{Cron: j.ID, At: j.Next}, j.Next)
	j.Queued = id
	return err
}

func (s *Scheduler) enqueue(t *store.Tx, j *savedJob, d due, at time.Time) (id string, err error) {
	d.Account = j.Grant.Caller.Account()
	payload, err := json.Marshal(d)
	if err != nil {
		return "", err
	}
	id, _, err = s.queue.Enqueue(t, jobs.New{
		Owner: j.Grant.Caller.Key(), Agent: j.Owner.Agent, Payload: string(payload), Due: at, Attempts: 1 + j.Retries,
	})
	return id, err
}

// An outcome is how a run has ended, as the queue keeps it.
type outcome struct {
	State  string // ok, failed, skipped, cancelled, or moved to another row of the queue
	Output string
	Tokens int64 `json:",omitempty"` // of the agents that worked
	Cost   int64 `json:",omitempty"` // likewise, in millionths of a dollar
}

// usedBy returns the use of the agents of a result.
func usedBy(data any) (tokens, cost int64) {
	text, err := json.Marshal(data)
	if err != nil {
		return 0, 0
	}
	var of struct {
		Subagents []struct {
			Tokens int64 `json:"tokens"`
			Cost   int64 `json:"cost_micros"`
		} `json:"subagents"`
	}
	if json.Unmarshal(text, &of) != nil {
		return 0, 0 // it has another form
	}
	for _, one := range of.Subagents {
		tokens, cost = tokens+one.Tokens, cost+one.Cost
	}
	return tokens, cost
}

// The states of a run beside ok.
const (
	runOK        = "ok"
	runFailed    = "failed"
	runSkipped   = "skipped"
	runCancelled = "cancelled"
	runRunning   = "running"
	runMoved     = "moved"
)

// do does one run. Its outcome is always a result: an error would make another process repeat a
// run that was interrupted.
func (s *Scheduler) do(ctx context.Context, h *jobs.Held) (string, error) {
	var d due
	if err := json.Unmarshal([]byte(h.Payload), &d); err != nil {
		return "", fmt.Errorf("the run cannot be read: %w", err)
	}
	slot, err := s.slots.Acquire(ctx, slots.For{Account: d.Account, Line: h.Owner})
	if err != nil { // the run was cancelled, or the server ends
		return "", err
	}
	defer slot.Release()
	j, end, err := s.begin(ctx, h, d)
	if err != nil { // nothing was done yet
		return "", err
	}
	if end == nil {
		end = s.work(ctx, h, j)
	}
	encoded, err := json.Marshal(end)
	return string(encoded), err
}

// begin notes that a run begins, and plans the next one. end is set if this one is not
// to be done.
func (s *Scheduler) begin(ctx context.Context, h *jobs.Held, d due) (j savedJob, end *outcome, err error) {
	err = s.Store.Update(ctx, func(t *store.Tx) (err error) {
		end = nil
		if j, err = readJob(t, d.Cron); errors.Is(err, store.ErrNotFound) {
			end = &outcome{State: runMoved}
			return nil
		} else if err != nil {
			return err
		}
		var begun bool
		if err := t.Row("SELECT EXISTS (SELECT 1 FROM cron_run WHERE id = $1)", []any{h.ID}, &begun); err != nil ||
			begun {
			return err // it is another attempt
		}
		if !d.Manual && j.Queued != h.ID {
			end = &outcome{State: runMoved}
			return nil
		}
		ms, err := t.Now()
		if err != nil {
			return err
		}
		now := store.FromMillis(ms)
		if _, err := t.Exec("INSERT INTO cron_run (id, cron, due, began, state) VALUES ($1, $2, $3, {{now}}, $4)",
			h.ID, j.ID, store.Millis(d.At), runRunning); err != nil || d.Manual {
			return err
		}
		if end, err = s.overlapping(t, h, j, d, now); err != nil || end != nil && end.State == runMoved {
			return err
		}
		missed := now.Sub(d.At) > late
		if end == nil && missed && j.Missed == "skip" {
			end = &outcome{State: runSkipped, Output: "no server ran at that time"}
		}
		after := now
		if now.Before(d.At) { // it is due in the microseconds that this clock does not have
			after = d.At
		}
		if missed && j.Missed == "all" {
			after = lastMissed(j.Schedule, d.At, now)
		}
		j.Queued = "" // this one
		if err := s.plan(t, &j, after); err != nil {
			return err
		}
		return j.write(t)
	})
	return j, end, err
}

// lastMissed returns the time of the first missed run to make up for. At most maxMissed runs
// after from are made up for.
func lastMissed(s schedule.Schedule, from, now time.Time) time.Time {
	var all []time.Time
	for at := from; !at.IsZero() && at.Before(now); at = s.Next(at) {
		if all = append(all, at); len(all) > maxMissed {
			all = all[1:]
		}
	}
	return all[0]
}

// overlapping handles that the run before has not ended.
func (s *Scheduler) overlapping(t *store.Tx, h *jobs.Held, j savedJob, d due, now time.Time) (*outcome, error) {
	others, err := store.List(t, "SELECT id FROM cron_run WHERE cron = $1 AND id <> $2 AND ended = 0",
		[]any{j.ID, h.ID},
		store.One[string])
	if err != nil || len(others) == 0 {
		return nil, err
	}
	switch j.Overlap {
	case "cancel":
		for _, id := range others {
			if _, err := s.queue.Cancel(t, id, "the next run was due"); err != nil &&
				!errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
		}
		return nil, nil
	case "queue":
		if _, err := t.Exec("DELETE FROM cron_run WHERE id = $1", h.ID); err != nil {
			return nil, err
		}
		if j.Queued, err = s.enqueue(t, &j, d, now.Add(overlapWait)); err != nil {
			return nil, err
		}
		return &outcome{State: runMoved}, j.write(t)
	}
	return &outcome{State: runSkipped, Output: "the run before it had not ended"}, nil
}

// errLimit ends the context of a run that takes too long.
var errLimit = errors.New("the run took too long")

// work does the work of a job.
func (s *Scheduler) work(ctx context.Context, h *jobs.Held, j savedJob) *outcome {
	if j.Work.Tool == "" {
		return &outcome{State: runOK, Output: j.Work.Message}
	}
	limited, cancel := context.WithTimeoutCause(ctx, j.Limit, errLimit)
	defer cancel()
	if s.Over != nil {
		defer s.Over(j.Grant.Caller)
	}
	attempt := h.Attempt
	var tokens, cost int64
	for wait := 2 * time.Second; ; wait = min(2*wait, 30*time.Second) {
		end := s.try(limited, j)
		tokens, cost = tokens+end.Tokens, cost+end.Cost
		end.Tokens, end.Cost = tokens, cost // of all attempts
		switch {
		case errors.Is(context.Cause(ctx), jobs.ErrCancelled):
			return end.as(runCancelled, context.Cause(ctx).Error())
		case ctx.Err() != nil:
			return end.as(runCancelled, "the server that ran it was stopped")
		case limited.Err() != nil:
			return end.as(runFailed, fmt.Sprintf("it did not end within %s", j.Limit))
		case end.State == runOK || attempt > j.Retries:
			return end
		}
		attempt++
		_ = clock.Sleep(limited, wait)
	}
}

// as returns o with another state, and the reason for it before the output.
func (o *outcome) as(state, why string) *outcome {
	o.State, o.Output = state, strings.TrimSpace(why+"\n"+o.Output)
	return o
}

// try makes the call of a job once.
func (s *Scheduler) try(ctx context.Context, j savedJob) *outcome {
	if j.Grant.Token != "" && s.Revoked != nil {
		why, err := s.Revoked(ctx, j.Grant)
		if err == nil && why != "" {
			err = tool.Errorf(tool.Refused, "the token of the caller that made the job %s", why).
				Try("make the job again with a valid token")
		}
		if err != nil {
			return &outcome{State: runFailed, Output: tool.AsError(err).Error()}
		}
	}
	result := s.Call(ctx, ScheduledCall{
		Grant: j.Grant, Tool: j.Work.Tool, Args: j.Work.Args, Parent: j.Call, Asker: j.Asker,
	})
	end := outcome{State: runOK, Output: text.Clip(result.Text(), maxRunOutput)}
	end.Tokens, end.Cost = usedBy(result.Data)
	if result.Failed || result.ExitCode != 0 { // for a model an exit code is a result; here nobody reads it
		end.State = runFailed
	}
	return &end
}

// ended writes the end of a run, in the transaction that ends its row of the queue. It locks the job first: otherwise a
// run that begins at the same time would not be found, and would never end.
func (s *Scheduler) ended(t *store.Tx, q jobs.Job) error {
	var d due
	if err := json.Unmarshal([]byte(q.Payload), &d); err != nil {
		return err
	}
	end := outcome{State: string(q.State), Output: q.Reason}
	if q.State == jobs.Done {
		if err := json.Unmarshal([]byte(q.Result), &end); err != nil {
			return err
		}
	}
	j, err := readJob(t, d.Cron)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	n, err := t.Exec(`UPDATE cron_run SET ended = {{now}}, state = $2, output = $3, tokens = $4, cost = $5
		WHERE id = $1 AND ended = 0`, q.ID, end.State, end.Output, end.Tokens, end.Cost)
	if err != nil {
		return err
	}
	if n == 0 {
		return s.neverBegan(t, q, j, d)
	}
	if _, err := t.Exec(`DELETE FROM cron_run WHERE cron = $1 AND ended > 0 AND id NOT IN
		(SELECT id FROM cron_run WHERE cron = $1 ORDER BY began DESC LIMIT $2)`, j.ID, keptRuns); err != nil {
		return err
	}
	if err := s.report(t, j, q.ID, end); err != nil {
		return err
	}
	return s.settle(t, j, end)
}

// neverBegan puts a run into the queue again whose process died before it began.
func (s *Scheduler) neverBegan(t *store.Tx, q jobs.Job, j savedJob, d due) (err error) {
	if q.State != jobs.Failed || j.Queued != q.ID {
		return nil
	}
	if j.Queued, err = s.enqueue(t, &j, d, d.At); err != nil {
		return err
	}
	return j.write(t)
}

// ahead plans a job again after the clock of the database was set back: its next run is as far away as
// the clock was moved.
func (s *Scheduler) ahead(t *store.Tx, q jobs.Job) error {
	var d due
	if err := json.Unmarshal([]byte(q.Payload), &d); err != nil {
		return err
	}
	j, err := readJob(t, d.Cron)
	if errors.Is(err, store.ErrNotFound) || err == nil && j.Queued != q.ID {
		return nil
	}
	if err != nil {
		return err
	}
	ms, err := t.Now()
	if err != nil {
		return err
	}
	now := store.FromMillis(ms)
	if a := &j.Schedule.Anchor; a.After(now) && !a.After(q.Created) { // the time when the job was made
		*a = a.Add(-(a.Sub(now)/j.Schedule.Every + 1) * j.Schedule.Every)
	}
	if since := &j.Schedule.Since; since.After(now) {
		j.Schedule.At, *since = j.Schedule.At.Add(now.Sub(*since)), now
	}
	if err := s.plan(t, &j, now); err != nil {
		return err
	}
	return j.write(t)
}

// settle writes the consequence of the end of a run for its job.
func (s *Scheduler) settle(t *store.Tx, j savedJob, end outcome) error {
	if j.Delete && j.Next.IsZero() && j.Enabled && end.State == runOK {
		return s.end(t, j)
	}
	switch end.State {
	case runOK:
		j.Failures = 0
	case runFailed:
		j.Failures++
		ms, err := t.Now()
		if err != nil {
			return err
		}
		pause := min(firstPause<<min(j.Failures-1, 10), maxPause)
		if until := store.FromMillis(ms).Add(pause); j.Next.Before(until) && !j.Next.IsZero() {
			if err := s.plan(t, &j, until.Add(-time.Millisecond)); err != nil {
				return err
			}
		}
	}
	return j.write(t)
}

// end takes a job off the list whose last run has succeeded. Its history stays for a while.
func (s *Scheduler) end(t *store.Tx, j savedJob) error {
	ms, err := t.Now()
	if err != nil {
		return err
	}
	j.Ended, j.Failures = store.FromMillis(ms), 0
	if err := j.write(t); err != nil {
		return err
	}
	old, err := store.List(t, "SELECT "+jobColumns+` FROM cron WHERE agent = $1 AND usr = $2 AND ended > 0
		AND (ended < $3 OR id NOT IN (SELECT id FROM cron WHERE agent = $1 AND usr = $2 AND ended > 0
			ORDER BY ended DESC, id DESC LIMIT $4))`,
		[]any{j.Owner.Agent, j.Owner.User, ms - keptEnded.Milliseconds(), maxEnded}, scanJob)
	for _, one := range old {
		err = errors.Join(err, s.delete(t, one))
	}
	return err
}

// delete removes a job and its runs.
func (s *Scheduler) delete(t *store.Tx, j savedJob) error {
	ids, err := store.List(t, "SELECT id FROM cron_run WHERE cron = $1 AND ended = 0", []any{j.ID}, store.One[string])
	if err != nil {
		return err
	}
	for _, statement := range []string{"DELETE FROM cron_run WHERE cron = $1", "DELETE FROM cron WHERE id = $1"} {
		if _, err := t.Exec(statement, j.ID); err != nil {
			return err
		}
	}
	for _, id := range append(ids, j.Queued) {
		if _, err := s.queue.Cancel(t, id, "the job was removed"); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// report adds the end of a run to the inbox of the owner's next session.
func (s *Scheduler) report(t *store.Tx, j savedJob, run string, end outcome) error {
	if end.State == runFailed && s.Failed != nil {
		if err := s.Failed(t, j.Owner, j.Name, end.Output); err != nil {
			return err
		}
	}
	if j.Notify == "never" || j.Notify == "failure" && end.State == runOK {
		return nil
	}
	words := end.Output
	if j.Work.Tool != "" || end.State != runOK {
		words = fmt.Sprintf("job %s: %s\n%s", j.Name, end.State, text.Clip(end.Output, 2000))
	}
	_, err := inbox.Add(t, inbox.To{Owner: j.Owner}, inbox.Event{
		ID: "cron " + run, Kind: inbox.Schedule, Subject: j.Name, Text: words,
	})
	return err
}

// Overdue returns how many jobs are enabled in a store, and how many of them should have
// run long ago: then no server runs them.
func Overdue(ctx context.Context, s *store.Store) (enabled, overdue int, err error) {
	err = s.Row(ctx, `SELECT count(*),
			coalesce(sum(CASE WHEN next_at > 0 AND next_at < {{now}} - $1 THEN 1 ELSE 0 END), 0)
		FROM cron WHERE enabled = 1 AND ended = 0`, []any{(5 * late).Milliseconds()}, &enabled, &overdue)
	return enabled, overdue, err
}

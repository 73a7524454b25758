package automation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

// exec stands for the tool that runs commands.
type fakeExec struct{}

type fakeExecArgs struct {
	Command string `json:"command" jsonschema:"command"`
	Timeout int    `json:"timeout_seconds,omitempty" jsonschema:"seconds"`
}

func (fakeExec) Spec() tool.Spec {
	return tool.Spec{Name: "exec", Group: "runtime", Title: "t", Doc: "d.", Risk: tool.Runs, Also: []string{"bash"}}
}

func (fakeExec) Do(context.Context, fakeExecArgs) (tool.Result, error) { return tool.Text("ran"), nil }

// A rig has the tool cron with a scheduler whose calls answer says.
type rig struct {
	*Scheduler
	ctx    context.Context
	answer func(ctx context.Context, c ScheduledCall) tool.Result
}

func newRig(t testing.TB, s *store.Store) *rig {
	t.Helper()
	r := &rig{answer: func(context.Context, ScheduledCall) tool.Result { return tool.Text("did it") }}
	r.Scheduler = NewScheduler(SchedulerOptions{Store: s, Call: func(ctx context.Context, c ScheduledCall) tool.Result {
		return r.answer(ctx, c)
	}})
	t.Cleanup(func() { _ = r.Close() })
	r.ctx = as(t, "ann")
	return r
}

func as(t testing.TB, user string) context.Context {
	return asCaller(t, tool.Caller{Agent: "a", User: user, Channel: "stdio", Session: "s"})
}

func asCaller(t testing.TB, c tool.Caller) context.Context {
	return tool.With(t.Context(), &tool.Running{
		Caller: c, Call: "call-1", Grant: func() tool.Grant { return tool.Grant{Caller: c} },
		Usable: func() []tool.Tool { return []tool.Tool{tool.New(fakeExec{}), tool.Prepared(cronTool{})} },
	})
}

// cron calls the tool with JSON, and returns the text of its result or error.
func (r *rig) cron(ctx context.Context, t *testing.T, args string) string {
	t.Helper()
	call, err := tool.Prepared(cronTool{r.Scheduler}).Bind(json.RawMessage(args), tool.DefaultLimits())
	if err == nil {
		var result tool.Result
		if result, err = call.Run(ctx); err == nil {
			return result.Text()
		}
	}
	return "error: " + tool.AsError(err).Error()
}

// history waits until a job has had n runs, which have ended, and returns them, the oldest first.
func (r *rig) history(t *testing.T, name string, n int) (list []runRow) {
	t.Helper()
	for {
		changed := r.Store.Wait(jobs.Topic)
		if err := r.Store.View(t.Context(), func(tx *store.Tx) error {
			j, err := find(tx, tool.Owner{Agent: "a", User: "ann"}, name)
			if err == nil {
				list, err = lastRuns(tx, j.ID, keptRuns)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		list = slices.DeleteFunc(list, func(one runRow) bool { return one.State == runRunning })
		if len(list) >= n {
			slices.Reverse(list)
			return list
		}
		select {
		case <-changed:
		case <-t.Context().Done():
			t.Fatalf("%d runs, want %d", len(list), n)
		}
	}
}

// put adds a job whose first run was due some time ago.
func (r *rig) put(t testing.TB, name string, ago time.Duration, change func(*savedJob)) savedJob {
	t.Helper()
	begin := time.Now().Add(-ago).Truncate(time.Millisecond)
	j := savedJob{ID: store.NewID(), Name: name, Owner: tool.Owner{Agent: "a", User: "ann"}, Enabled: true, job: job{
		Schedule: schedule.Schedule{Every: time.Hour, Anchor: begin, Zone: "UTC"},
		Work:     work{Tool: "exec", Args: json.RawMessage(`{"command":"x"}`)},
		Limit:    time.Minute, Overlap: "skip", Missed: "once", Notify: "always",
		Grant: tool.Grant{Caller: tool.Caller{Agent: "a", User: "ann", Channel: "cron", Session: name}},
	}}
	change(&j)
	if err := r.Store.Update(t.Context(), func(tx *store.Tx) error {
		if err := r.plan(tx, &j, begin.Add(-time.Millisecond)); err != nil {
			return err
		}
		return j.write(tx)
	}); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestJobsMakeNoJobs: a job whose tool calls others, such as a script, makes no job by one of them.
func TestJobsMakeNoJobs(t *testing.T) {
	r := newRig(t, storetest.Open(t, t.TempDir()))
	ctx := asCaller(t, tool.Caller{Agent: "a", User: "ann", Channel: "cron", Session: "job"})
	if got := r.cron(ctx, t, `{"action":"add","message":"x","every":"1h"}`); !strings.Contains(got, "cannot make jobs") {
		t.Error(got)
	}
	if got := r.cron(ctx, t, `{}`); !strings.Contains(got, "You have no jobs") {
		t.Error(got)
	}
}

func TestCronTool(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		for _, step := range []struct{ args, want string }{
			{`{}`, "You have no jobs"},
			{`{"action":"add","id":"ls","command":"ls","cron":"30 2 * * *","timezone":"Europe/Berlin"}`, "02:30:00 +0"},
			{`{"action":"add","name":"ls","message":"x","every":"1h"}`, `conflict: you have a job with the name "ls"`},
			{`{"action":"add","name":"tick","command":"date >> tick.txt","every":"1h"}`,
				`{"command":"date >> tick.txt","timeout_seconds":600}. It runs every 1h, next:`},
			{`{"action":"remove","id":"tick"}`, "tick"},
			{`{"action":"add","job":{"name":"gc","schedule":{"kind":"every","everyMs":90000},"message":"m","deliver":true}}`,
				"every 1m30s"},
			{`{"action":"add","name":"zc","schedule":{"kind":"after","after_seconds":7200},"command":"true"}`,
				"runs once"},
			{`{"action":"add","name":"oc","job":{"schedule":{"kind":"at","at":"2040-01-01T09:00:00+02:00"},` +
				`"payload":{"kind":"systemEvent","text":"hello"},"deleteAfterRun":true}}`, "2040-01-01"},
			{`{"action":"add","id":"alias","tool":"bash","args":{"command":"ls"},"every":"1h"}`,
				`exec {"command":"ls"}`},
			{`{"action":"add","id":"x","tool":"nope","every":"1h"}`, `no tool "nope"`},
			{`{"action":"add","id":"x","tool":"cron","every":"1h"}`, "a job cannot make jobs"},
			{`{"action":"add","id":"x","url":"http://example.com","every":"1h"}`, `no tool "http_request"`},
			{`{"action":"add","id":"x","tool":"exec","args":{"comand":"ls"},"every":"1h"}`, `did you mean "command"`},
			{`{"action":"add","id":"x","message":"hi","to":"telegram:1","every":"1h"}`, `no tool "message"`},
			{`{"action":"add","id":"x","message":"x"}`, "one of at, after, every and cron"},
			{`{"action":"add","id":"x","every":"1h"}`, "a job does one thing; this one has 0"},
			{`{"action":"add","id":"x","every":"1h","message":"a","command":"b"}`, "this one has 2"},
			{`{"action":"add","id":"x","every":"60","message":"a"}`, "units s, m, h"},
			{`{"action":"add","id":"x","at":"soon","message":"a"}`, `cannot read "soon"`},
			{`{"action":"add","id":"x","cron":"@daily","timezone":"CET5","message":"a"}`, `no time zone "CET5"`},
			{`{"action":"add","id":"x","cron":"0 9 * * *","kind":"weekly","message":"a"}`, `set cron to "@weekly"`},
			{`{"action":"add","id":"x","message":"a","schedule":{"kind":"weekly","expr":"0 9 * * *"}}`, `set cron to "@weekly"`},
			{`{"action":"add","id":"x","cron":"*-5 * * * *","message":"a"}`, `"*-5" is not *, a value`},
			{`{"action":"explode"}`, "use list, add"},
			{`{"action":"runs"}`, "id is required"},
			{`{"action":"runs","id":"ls"}`, "has not run yet"},
			{`{"action":"run","id":"ls","runMode":"due"}`, "is not due"},
			{`{"action":"update","id":"ls","timezone":"Asia/Kolkata"}`, "02:30:00 +0530"},
			{`{"action":"update","id":"ls","patch":{"schedule":{"expr":"0 9 * * *"}}}`,
				`by "0 9 * * *" in Asia/Kolkata`},
			{`{"action":"pause","id":"ls"}`, "is paused"},
			{`{"action":"list"}`, "; paused"},
			{`{"action":"resume","id":"ls"}`, "next:"},
			{`{"action":"status"}`, "5 jobs, 5 enabled, 0 running. Next: "},
			{`{"action":"remove","jobId":"ls"}`, "is removed"},
			{`{"action":"remove","id":"ls"}`, `no job "ls"`},
		} {
			if got := r.cron(r.ctx, t, step.args); !strings.Contains(got, step.want) {
				t.Errorf("%s: %s\nwant %s", step.args, got, step.want)
			}
		}
		for _, args := range []string{`{"action":"run","id":"gc"}`, `{"action":"remove","id":"gc"}`,
			`{"action":"runs","id":"gc"}`} {
			if got := r.cron(as(t, "bob"), t, args); !strings.HasPrefix(got, "error: not_found") {
				t.Errorf("another user, %s: %s", args, got)
			}
		}
		if got := r.cron(as(t, "bob"), t, `{}`); !strings.Contains(got, "no jobs") {
			t.Errorf("another user sees %s", got)
		}
	})
}

// TestRunsOnce lets three schedulers share jobs, and ends and replaces them all the time.
func TestRunsOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var made atomic.Int32
		r := newRig(t, s)
		for i := range 5 {
			r.put(t, fmt.Sprint("job", i), 0, func(j *savedJob) {
				j.Schedule.Every = 40 * time.Millisecond
				j.Notify, j.Missed = "never", "all"
			})
		}
		ctx, stop := context.WithCancel(t.Context())
		var working sync.WaitGroup
		for range 3 {
			working.Go(func() {
				for ctx.Err() == nil {
					one := NewScheduler(SchedulerOptions{Store: s,
						Call: func(context.Context, ScheduledCall) tool.Result {
							made.Add(1)
							return tool.Text("done")
						}})
					one.queue.Lease = 5 * time.Second // a slow machine must not lose it
					one.Start()
					before := made.Load()
					for ctx.Err() == nil && made.Load() < before+10 {
						time.Sleep(time.Millisecond)
					}
					_ = one.Close()
				}
			})
		}
		for i := range 5 {
			r.history(t, fmt.Sprint("job", i), 20)
		}
		stop()
		working.Wait()
		for i := range 5 {
			seen := map[int64]bool{}
			for _, one := range r.history(t, fmt.Sprint("job", i), 20) {
				if seen[one.Due.UnixMilli()] {
					t.Errorf("job %d: the run of %s was done twice", i, one.Due)
				}
				seen[one.Due.UnixMilli()] = true
			}
		}
	})
}

func TestMissedRuns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		for missed, want := range map[string]int{"once": 1, "skip": 1, "all": 4, "many": maxMissed} {
			r.put(t, missed, 3*time.Hour+time.Minute, func(j *savedJob) {
				j.Missed, j.Notify = missed, "never"
				if missed == "many" {
					j.Missed, j.Schedule.Every = "all", 2*time.Minute
				}
			})
			r.Start()
			runs := r.history(t, missed, want)
			if len(runs) > want+1 { // the next one may be due by now
				t.Errorf("%s: %d runs, want %d", missed, len(runs), want)
			}
			if skipped := runs[0].State == runSkipped; skipped != (missed == "skip") {
				t.Errorf("%s: %+v", missed, runs[0])
			}
		}
	})
}

func TestOverlappingRuns(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		var first sync.Map // by name of the job: its first run has begun
		end := make(chan bool)
		r.answer = func(ctx context.Context, c ScheduledCall) tool.Result {
			if _, begun := first.LoadOrStore(c.Grant.Caller.Session, true); begun {
				return tool.Text("second")
			}
			select {
			case <-end:
				return tool.Text("first")
			case <-ctx.Done():
				return tool.Failure(context.Cause(ctx))
			}
		}
		for _, overlap := range []string{"skip", "cancel"} {
			r.put(t, overlap, 0, func(j *savedJob) {
				j.Overlap, j.Schedule.Every, j.Notify = overlap, 100*time.Millisecond, "never"
			})
		}
		r.Start()
		if one := r.history(t, "skip", 1)[0]; one.State != runSkipped ||
			!strings.Contains(one.Output, "had not ended") {
			t.Errorf("skip: %+v", one)
		}
		var runs []runRow // later ones may have ended before the first one, which was cancelled
		at := -1
		for n := 1; n < keptRuns && at < 0; n++ {
			runs = r.history(t, "cancel", n)
			at = slices.IndexFunc(runs, func(one runRow) bool { return one.State == runCancelled })
		}
		if at < 0 || !strings.Contains(runs[at].Output, "the next run was due") {
			t.Errorf("cancel: %+v", runs)
		}
		close(end)
	})
}

func TestFailures(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		var calls atomic.Int32
		r.answer = func(_ context.Context, c ScheduledCall) tool.Result {
			calls.Add(1)
			if c.Grant.Caller.Session == "slow" {
				return tool.Failure(errors.New("never shown"))
			}
			return tool.Failure(tool.Errorf(tool.Refused, "a person denied it"))
		}
		r.put(t, "fails", 0, func(j *savedJob) { j.Schedule.Every = firstPause / 2 }) // the first run ends before the next
		r.Start()
		if one := r.history(t, "fails", 1)[0]; one.State != runFailed ||
			!strings.Contains(one.Output, "a person denied it") {
			t.Errorf("%+v", one)
		}
		var j savedJob
		if err := s.View(t.Context(), func(tx *store.Tx) (err error) {
			j, err = find(tx, tool.Owner{Agent: "a", User: "ann"}, "fails")
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if wait := time.Until(j.Next); j.Failures != 1 || wait < firstPause/2 || wait > 2*firstPause {
			t.Errorf("after %d failures the next run is in %s", j.Failures, wait)
		}
		events, err := inbox.New(inbox.Options{Store: s}).Take(t.Context(), tool.CallerFrom(r.ctx), "c", nil)
		if err != nil || len(events) != 1 || events[0].Kind != inbox.Schedule ||
			!strings.Contains(events[0].Text, "job fails: failed") {
			t.Errorf("%+v, %v", events, err)
		}
		if calls.Load() != 1 {
			t.Errorf("a job without retries was called %d times", calls.Load())
		}
		r.put(t, "again", 0, func(j *savedJob) { j.Retries = 1 })
		r.history(t, "again", 1)
		if calls.Load() != 3 {
			t.Errorf("with one retry: %d calls in all, want 3", calls.Load())
		}
	})
}

func TestRevokedToken(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		r.answer = func(context.Context, ScheduledCall) tool.Result {
			t.Error("the call was made")
			return tool.Text("")
		}
		r.Revoked = func(context.Context, tool.Grant) (string, error) { return "was revoked", nil }
		r.put(t, "old", 0, func(j *savedJob) { j.Grant.Token = "token:1" })
		r.Start()
		if one := r.history(t, "old", 1)[0]; one.State != runFailed || !strings.Contains(one.Output, "was revoked") {
			t.Errorf("%+v", one)
		}
	})
}

// TestOneTimeJobs shows that a job that has succeeded is removed, and one that has failed is not.
func TestOneTimeJobs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		r.answer = func(_ context.Context, c ScheduledCall) tool.Result {
			if strings.Contains(string(c.Args), "bad") {
				return tool.Failure(errors.New("x"))
			}
			return tool.Text("ok")
		}
		for _, name := range []string{"good", "bad"} {
			args := fmt.Sprintf(`{"action":"add","id":%q,"command":%q,"after":"1s","options":{"notify":"always"}}`,
				name, name)
			if got := r.cron(r.ctx, t, args); !strings.Contains(got, "runs once") {
				t.Fatal(got)
			}
		}
		r.Start()
		if one := r.history(t, "bad", 1)[0]; one.State != runFailed {
			t.Errorf("%+v", one)
		}
		for {
			changed := s.Wait(jobs.Topic)
			if got := r.cron(r.ctx, t, `{}`); !strings.Contains(got, "good: ") {
				break
			}
			<-changed
		}
		if got := r.cron(r.ctx, t, `{"action":"run","id":"bad"}`); !strings.Contains(got, "failed after") {
			t.Error(got)
		}
	})
}

// TestManyJobs has 500 jobs that are due at once.
func TestManyJobs(t *testing.T) {
	r := newRig(t, storetest.Open(t, t.TempDir()))
	for i := range 500 {
		r.put(t, fmt.Sprint("due", i), 0, func(j *savedJob) { j.Notify = "never" })
	}
	r.Start()
	for i := range 500 {
		r.history(t, fmt.Sprint("due", i), 1)
	}
}

// TestJobsOfOneUserDoNotStopOthers has a user with more jobs that never end than jobs run at once.
func TestJobsOfOneUserDoNotStopOthers(t *testing.T) {
	r := newRig(t, storetest.Open(t, t.TempDir()))
	runs := make(chan string, 1000)
	r.answer = func(ctx context.Context, c ScheduledCall) tool.Result {
		runs <- c.Grant.Caller.User
		if c.Grant.Caller.User == "ann" {
			<-ctx.Done()
		}
		return tool.Text("did it")
	}
	for i := range 100 {
		r.put(t, fmt.Sprint("endless", i), time.Second, func(j *savedJob) { j.Notify = "never" })
	}
	r.put(t, "of bob", 0, func(j *savedJob) { j.Owner.User, j.Grant.Caller.User = "bob", "bob" })
	r.Start()
	for ann := 0; ; ann++ {
		if <-runs == "bob" {
			break
		}
		if ann == runSlots/2 {
			t.Fatal("one user has more than half of the slots")
		}
	}
}

// TestHistoryHasWhatAgentsUsed runs an agent's turn, whose result says what it has used.
func TestHistoryHasWhatAgentsUsed(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		r.answer = func(context.Context, ScheduledCall) tool.Result {
			return tool.Text("the turn").With(map[string]any{"status": "done", "subagents": []any{
				map[string]any{"tokens": 1200, "cost_micros": 30_000}, map[string]any{"tokens": 34, "cost_micros": 5_000},
			}})
		}
		r.Start()
		if got := r.cron(r.ctx, t, `{"action":"add","id":"turn","command":"x","every":"1h"}`); strings.HasPrefix(got, "error") {
			t.Fatal(got)
		}
		if got := r.cron(r.ctx, t, `{"action":"run","id":"turn"}`); !strings.Contains(got, "1234 tokens, $0.035") {
			t.Errorf("the run: %q", got)
		}
		if got := r.cron(r.ctx, t, `{"action":"runs","id":"turn"}`); !strings.Contains(got, "1234 tokens, $0.035") {
			t.Errorf("the history: %q", got)
		}
	})
}

// TestRunThatBeginsWhileItsLeaseEnds has a run whose process noted that it begins, when another one found that its lease
// had ended: its history must have an end.
func TestRunThatBeginsWhileItsLeaseEnds(t *testing.T) {
	s := storetest.Open(t, storetest.Database(t))
	r := newRig(t, s)
	put := r.put(t, "late", time.Second, func(*savedJob) {})
	if err := s.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec("UPDATE job SET state = 'running', attempt = 1, run_at = 1, holder = 'dead' WHERE id = $1", put.Queued)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), func(tx *store.Tx) error { // as begin does
		j, err := readJob(tx, put.ID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec("INSERT INTO cron_run (id, cron, due, began, state) VALUES ($1, $2, 0, {{now}}, $3)",
			j.Queued, j.ID, runRunning); err != nil {
			return err
		}
		r.Start()
		for waits := 0; waits == 0; { // until the other transaction waits for the job
			if err := s.Row(t.Context(), `SELECT count(*) FROM pg_stat_activity
				WHERE datname = current_database() AND wait_event_type = 'Lock'`, nil, &waits); err != nil {
				return err
			}
		}
		j.Queued = ""
		return j.write(tx)
	}); err != nil {
		t.Fatal(err)
	}
	if got := r.history(t, "late", 1)[0]; got.State != runFailed || !strings.Contains(got.Output, "ended or lost its database") {
		t.Errorf("%+v", got)
	}
}

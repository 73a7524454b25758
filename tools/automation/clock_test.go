package automation

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

// clocked returns a rig on a database whose clock stands at a time.
func clocked(t *testing.T, at time.Time) (*rig, *storetest.Clock) {
	t.Helper()
	dsn := storetest.Database(t)
	clock := storetest.NewClock(t, storetest.Open(t, dsn), dsn)
	clock.Set(t, at)
	return newRig(t, storetest.Open(t, clock.DSN)), clock
}

// job reads a job.
func (r *rig) job(t *testing.T, name string) (j savedJob) {
	t.Helper()
	if err := r.Store.View(t.Context(), func(tx *store.Tx) (err error) {
		j, err = find(tx, tool.Owner{Agent: "a", User: "ann"}, name)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return j
}

// TestEachDueTimeRunsOnce: the database has milliseconds, and a due time has what the caller's clock had. A run that
// begins in the millisecond of its due time does not plan that time again.
func TestEachDueTimeRunsOnce(t *testing.T) {
	due := time.Date(2026, 5, 4, 10, 0, 0, int(600*time.Microsecond), time.UTC)
	r, clock := clocked(t, due.Add(-time.Minute))
	plan := map[string]schedule.Schedule{
		"once":  {At: due, Zone: "UTC"},
		"every": {Every: time.Hour, Anchor: due.Add(-time.Hour), Zone: "UTC"},
	}
	for name, s := range plan {
		if err := r.Store.Update(t.Context(), func(tx *store.Tx) error {
			j := savedJob{ID: store.NewID(), Name: name, Owner: tool.Owner{Agent: "a", User: "ann"}, Enabled: true, job: job{
				Schedule: s, Work: work{Message: "rest"}, Limit: time.Minute, Overlap: "skip", Missed: "once", Notify: "always",
			}}
			if err := r.plan(tx, &j, due.Add(-time.Minute)); err != nil {
				return err
			}
			return j.write(tx)
		}); err != nil {
			t.Fatal(err)
		}
	}
	r.Start()
	clock.Set(t, due.Truncate(time.Millisecond), jobs.Topic)
	for name := range plan {
		if runs := r.history(t, name, 1); len(runs) != 1 {
			t.Errorf("%s: %d runs", name, len(runs))
		}
		if j := r.job(t, name); !j.Next.IsZero() && !j.Next.After(due) {
			t.Errorf("%s: due at %s, and planned again for %s", name, due, j.Next)
		}
	}
	clock.Set(t, due.Truncate(time.Millisecond).Add(time.Millisecond), jobs.Topic)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for name := range plan {
		if runs := r.history(t, name, 1); len(runs) != 1 {
			t.Errorf("%s: %d runs of one due time", name, len(runs))
		}
	}
}

// TestClockSetBack: what was planned before the clock of the database is set back by an hour does not wait for
// that hour. A time of the calendar stays.
func TestClockSetBack(t *testing.T) {
	begin := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	r, clock := clocked(t, begin)
	fixed := begin.Add(3 * time.Hour)
	if err := r.Store.Update(t.Context(), func(tx *store.Tx) error {
		for name, s := range map[string]schedule.Schedule{
			"interval": {Every: 10 * time.Second, Anchor: begin.Add(-time.Hour), Zone: "UTC"},
			"new":      {Every: 10 * time.Second, Anchor: begin, Zone: "UTC"}, // made before the clock was set back
			"cron":     {Cron: "* * * * *", Zone: "UTC"},
			"once":     {At: fixed, Zone: "UTC"},
		} {
			j := savedJob{ID: store.NewID(), Name: name, Owner: tool.Owner{Agent: "a", User: "ann"}, Enabled: true, job: job{
				Schedule: s, Work: work{Message: "rest"}, Limit: time.Minute, Overlap: "skip", Missed: "once", Notify: "never",
			}}
			if err := r.plan(tx, &j, begin); err != nil {
				return err
			}
			if err := j.write(tx); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, how := range []string{"after", "at"} { // a duration, not a time of the calendar
		if got := r.cron(r.ctx, t, `{"action":"add","name":"`+how+`","`+how+`":"30s","message":"rest"}`); !strings.Contains(got, "is scheduled") {
			t.Fatal(got)
		}
	}
	clock.Set(t, begin.Add(-time.Hour))
	r.Start()
	for _, name := range []string{"interval", "new", "cron", "after", "at"} {
		for changed := r.Store.Wait(jobs.Topic); ; changed = r.Store.Wait(jobs.Topic) {
			if j := r.job(t, name); j.Next.Before(begin.Add(-time.Hour + 2*time.Minute)) {
				break
			}
			<-changed
		}
	}
	if j := r.job(t, "once"); !j.Next.Equal(fixed) {
		t.Errorf("a time of the calendar is now %s, want %s", j.Next, fixed)
	}
}

// TestCommandsThatFail: nobody reads the exit code of a job, so it decides how the run has ended.
func TestCommandsThatFail(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		failed := make(chan string, 1)
		r.Failed = func(_ *store.Tx, _ tool.Owner, job, _ string) error {
			select {
			case failed <- job:
			default:
			}
			return nil
		}
		calls := 0
		r.answer = func(_ context.Context, _ ScheduledCall) tool.Result {
			calls++
			res := tool.Text("[exit code 3]")
			res.ExitCode = 3
			return res
		}
		r.Start()
		r.cron(r.ctx, t, `{"action":"add","id":"b","command":"exit 3","every":"1h","options":{"retries":1}}`)
		if got := r.cron(r.ctx, t, `{"action":"run","id":"b"}`); !strings.Contains(got, "failed after") {
			t.Error(got)
		}
		if job := <-failed; job != "b" || calls != 2 {
			t.Errorf("reported %q after %d calls, want b after 2", job, calls)
		}
		if j := r.job(t, "b"); j.Failures != 1 {
			t.Errorf("%d failures", j.Failures)
		}
	})
}

// TestDelayEndsDuringTheCall adds a job whose time has come before it is stored, as with a slow database.
func TestDelayEndsDuringTheCall(t *testing.T) {
	at := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)
	r, clock := clocked(t, at)
	r.Start()
	running := tool.RunningFrom(r.ctx)
	usable := running.Usable
	running.Usable = func() []tool.Tool {
		clock.Set(t, at.Add(time.Minute))
		return usable()
	}
	r.cron(tool.With(r.ctx, &running), t, `{"action":"add","id":"soon","at":"1s","message":"rest"}`)
	clock.Set(t, at.Add(2*time.Minute), jobs.Topic)
	r.history(t, "soon", 1)
}

// TestHistoryOfEndedJobs: a job that has ended is off the list, its history stays, and its name is free.
func TestHistoryOfEndedJobs(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		r := newRig(t, s)
		r.Start()
		for range 2 {
			if got := r.cron(r.ctx, t, `{"action":"add","id":"rem","message":"rest","at":"1s"}`); !strings.Contains(got, "scheduled") {
				t.Fatal(got)
			}
			for changed := s.Wait(jobs.Topic); r.job(t, "rem").Ended.IsZero(); changed = s.Wait(jobs.Topic) {
				<-changed
			}
			if got := r.cron(r.ctx, t, `{"action":"runs","id":"rem"}`); !strings.Contains(got, "ok after") {
				t.Errorf("the history: %s", got)
			}
			if got := r.cron(r.ctx, t, `{}`); !strings.Contains(got, "You have no jobs") || !strings.Contains(got, "Ended: rem.") {
				t.Errorf("the list: %s", got)
			}
			if got := r.cron(r.ctx, t, `{"action":"status"}`); !strings.Contains(got, "0 jobs, 0 enabled") {
				t.Error(got)
			}
		}
		if list, err := r.Jobs(t.Context()); err != nil || len(list) > 0 {
			t.Errorf("the operator's list: %v, %v", list, err)
		}
		r.put(t, "old", 0, func(j *savedJob) {
			j.Schedule, j.Ended = schedule.Schedule{At: time.Now().Add(-time.Hour), Zone: "UTC"}, time.Now().Add(-2*keptEnded)
		})
		r.put(t, "ends", 0, func(j *savedJob) {
			j.Schedule, j.Delete = schedule.Schedule{At: time.Now().Add(time.Second), Zone: "UTC"}, true
		})
		for changed := s.Wait(jobs.Topic); r.job(t, "ends").Ended.IsZero(); changed = s.Wait(jobs.Topic) {
			<-changed
		}
		if got := r.cron(r.ctx, t, `{"action":"runs","id":"old"}`); !strings.Contains(got, "no job") {
			t.Errorf("a job that ended long ago: %s", got)
		}
	})
}

// TestFirstRunOfAnInterval: the first run of a job is an interval after the time of the database, not of the process.
func TestFirstRunOfAnInterval(t *testing.T) {
	now := time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC) // long before the clock of this process
	r, _ := clocked(t, now)
	for args, want := range map[string]time.Time{
		`{"action":"add","id":"every","every":"1h","message":"rest"}`: now.Add(time.Hour),
		`{"action":"add","id":"once","at":"3s","message":"rest"}`:     now.Add(3 * time.Second),
	} {
		r.cron(r.ctx, t, args)
		if j := r.job(t, strings.Split(args, `"`)[7]); !j.Next.Equal(want) {
			t.Errorf("%s: next %s, want %s", args, j.Next, want)
		}
	}
}

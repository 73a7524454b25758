package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the operators' verbs for the jobs of all agents.
func Room() *room.Room {
	s := new(Scheduler) // never started
	return &room.Room{
		Name: "cron", Title: "Manage the scheduled jobs of all agents",
		Doc: `cron manages the jobs that agents have scheduled with the tool cron. Agents add and
change their own jobs. mcp-tools pause stops the jobs of an agent, or all jobs, in an
emergency.`,
		Open: func(h *room.Host) error { *s = *NewScheduler(SchedulerOptions{Store: h.Store}); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the jobs of all agents, with their next runs", Risk: tool.Reads, Where: room.Operator,
			}, s.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show a job: its work, its next times and its latest runs", Args: []string{"id"},
				Risk: tool.Reads, Where: room.Operator, Complete: s.ids,
			}, s.show),
			room.Do(room.Verb{
				Name: "run", Title: "Run a job now, beside the runs of its schedule", Args: []string{"id"}, Risk: tool.Runs,
				Where: room.Operator, Complete: s.ids,
				Doc: `run has a server run a job as soon as it can, with the rights of the agent that made
the job. It returns at once; cron show has the end of the run.`,
			}, s.runNow),
			room.Do(room.Verb{
				Name: "pause", Title: "Pause a job", Args: []string{"id"}, Risk: tool.Writes, Where: room.Operator,
				Complete: s.ids,
				Doc: `pause keeps a job from running at its times, until cron resume or its agent continues
it. A run that was begun continues; mcp-tools stop ends it.`,
			}, s.pause),
			room.Do(room.Verb{
				Name: "resume", Title: "Let a paused job run at its times again", Args: []string{"id"}, Risk: tool.Writes,
				Where: room.Operator, Complete: s.ids,
			}, s.resume),
			room.Do(room.Verb{
				Name: "remove", Title: "Remove a job, and cancel its run", Args: []string{"id"}, Risk: tool.Destroys,
				Where: room.Operator,
			}, s.remove),
		},
		Checks: []room.Check{{Name: "jobs", Stored: true, Run: s.check}},
	}
}

// check finds out whether a server runs the jobs.
func (s *Scheduler) check(ctx context.Context, f *room.Findings) {
	if s.Store.Missing() {
		return
	}
	enabled, overdue, err := Overdue(ctx, s.Store)
	switch {
	case err != nil:
		f.Fail("", "%v", err)
	case overdue > 0:
		f.Advise("start a server, or mcp-tools serve --jobs-only, which does nothing else",
			"%d of %s should have run by now; no server runs them", overdue, text.Plural(enabled, "scheduled job"))
	case enabled > 0:
		f.OK("%s; they run while a server runs", text.Plural(enabled, "scheduled job"))
	}
}

func (s *Scheduler) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	list, err := s.Jobs(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	head := []string{"ID", "AGENT", "USER", "NEXT RUN", "LAST", "JOB", "WORK"}
	return room.Rows(list, "No agent has scheduled a job.", head, func(j ScheduledJob) []string {
		next := "none"
		switch {
		case j.Paused:
			next = "paused"
		case !j.Next.IsZero():
			next = j.Next.Local().Format(time.DateTime)
		}
		return []string{j.ID, cmp.Or(j.Agent, "-"), cmp.Or(j.User, "-"), next, cmp.Or(j.Last, "-"), j.Name, j.Work}
	}), nil
}

// ids lists the ids of jobs.
func (s *Scheduler) ids(ctx context.Context) (list []string, err error) {
	all, err := s.Jobs(ctx)
	for _, j := range all {
		list = append(list, j.ID+"\t"+j.Name)
	}
	return list, err
}

type jobArgs struct {
	ID string `json:"id" jsonschema:"the job, as in list"`
}

// A JobDetail is a job with its next times and its latest runs.
type JobDetail struct {
	ScheduledJob
	Times []time.Time `json:"times"` // the next ones
	Runs  []JobRun    `json:"runs"`  // the latest first
}

// A JobRun is one run of a job.
type JobRun struct {
	ID     string    `json:"id"`
	State  string    `json:"state"`
	Due    time.Time `json:"due"`
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended,omitzero"`
	Output string    `json:"output,omitempty"`
	Tokens int64     `json:"tokens,omitempty"` // of agents
	Cost   int64     `json:"cost_micros,omitempty"`
}

const (
	shownTimes = 5
	shownRuns  = 10
)

func (s *Scheduler) show(ctx context.Context, args jobArgs) (none tool.Result, err error) {
	var job JobDetail
	var lines strings.Builder
	err = s.view(ctx, args.ID, func(t *store.Tx, j savedJob) error {
		job, lines = JobDetail{Times: []time.Time{}, Runs: []JobRun{}}, strings.Builder{}
		runs, err := lastRuns(t, j.ID, shownRuns)
		if err != nil {
			return err
		}
		job.ScheduledJob = scheduled(j, runs)
		fmt.Fprintf(&lines, "Job: %s\nAgent: %s\nUser: %s\nSchedule: %s\nWork: %s\n", tool.Visible(j.Name),
			cmp.Or(j.Owner.Agent, "-"), cmp.Or(j.Owner.User, "-"), j.Schedule, tool.Visible(j.Work.String()))
		if !j.Enabled {
			lines.WriteString("Paused; mcp-tools cron resume continues it\n")
		}
		if j.Failures > 0 {
			fmt.Fprintf(&lines, "Failed %s in a row\n", text.Plural(j.Failures, "time"))
		}
		for at := j.Next; !at.IsZero() && len(job.Times) < shownTimes; at = j.Schedule.Next(at) {
			job.Times = append(job.Times, at)
			fmt.Fprintf(&lines, "Next: %s\n", shown(at, j.Schedule))
		}
		for _, r := range runs {
			if r.State == runRunning {
				r.Ended = time.Time{}
			}
			job.Runs = append(job.Runs, JobRun{r.ID, r.State, r.Due, r.Began, r.Ended, r.Output, r.Tokens, int64(r.Cost)})
			fmt.Fprintf(&lines, "Run: %s %s", shown(r.Began, j.Schedule), tool.Visible(r.describe()))
		}
		return nil
	})
	return room.Said(job, "%s", lines.String()), err
}

func (s *Scheduler) runNow(ctx context.Context, args jobArgs) (tool.Result, error) {
	var name, run string
	err := s.update(ctx, args.ID, func(t *store.Tx, j savedJob, now time.Time) (err error) {
		name = j.Name
		run, err = s.enqueueNow(t, &j, now)
		return err
	})
	return room.Said(map[string]string{"run": run}, "A server runs the job %s as soon as it can; mcp-tools cron show %s has "+
		"the end.", name, args.ID), err
}

func (s *Scheduler) pause(ctx context.Context, args jobArgs) (tool.Result, error) {
	return s.enable(ctx, args.ID, false)
}

func (s *Scheduler) resume(ctx context.Context, args jobArgs) (tool.Result, error) {
	return s.enable(ctx, args.ID, true)
}

// enable lets a job of any agent run at its times again, or pauses it.
func (s *Scheduler) enable(ctx context.Context, id string, on bool) (tool.Result, error) {
	var one ScheduledJob
	err := s.update(ctx, id, func(t *store.Tx, j savedJob, now time.Time) error {
		j.enable(on)
		if err := s.plan(t, &j, now); err != nil {
			return err
		}
		one = scheduled(j, nil)
		return j.write(t)
	})
	said := fmt.Sprintf("The job %s is paused; mcp-tools cron resume continues it.", one.Name)
	switch {
	case on && one.Next.IsZero():
		said = fmt.Sprintf("The job %s has no further runs.", one.Name)
	case on:
		said = fmt.Sprintf("The job %s runs next at %s.", one.Name, one.Next.Local().Format(time.DateTime))
	}
	return room.Said(one, "%s", said), err
}

func (s *Scheduler) remove(ctx context.Context, args jobArgs) (tool.Result, error) {
	name, err := s.Remove(ctx, args.ID)
	return room.Said(map[string]string{"removed": args.ID}, "Removed the job %s.", name), err
}

// A ScheduledJob is a job as the operator sees it.
type ScheduledJob struct {
	ID       string    `json:"id"`
	Agent    string    `json:"agent,omitempty"`
	User     string    `json:"user,omitempty"`
	Name     string    `json:"name"`
	Schedule string    `json:"schedule"`
	Work     string    `json:"work"`
	Paused   bool      `json:"paused"`
	Next     time.Time `json:"next,omitzero"`
	Failures int       `json:"failures"` // in a row
	Last     string    `json:"last,omitempty"`
}

// Jobs returns the jobs of all agents, ordered by agent, user and name.
func (s *Scheduler) Jobs(ctx context.Context) (list []ScheduledJob, err error) {
	err = s.Store.View(ctx, func(t *store.Tx) error {
		list = nil
		all, err := store.List(t, "SELECT "+jobColumns+" FROM cron WHERE ended = 0 ORDER BY agent, usr, name", nil, scanJob)
		if err != nil {
			return err
		}
		for _, j := range all {
			last, err := lastRuns(t, j.ID, 1)
			if err != nil {
				return err
			}
			list = append(list, scheduled(j, last))
		}
		return nil
	})
	return list, err
}

// scheduled returns a job as the operator sees it, with its latest runs.
func scheduled(j savedJob, runs []runRow) ScheduledJob {
	one := ScheduledJob{
		ID: j.ID, Agent: j.Owner.Agent, User: j.Owner.User, Name: j.Name, Schedule: j.Schedule.String(),
		Work: j.Work.String(), Paused: !j.Enabled, Next: j.Next, Failures: j.Failures,
	}
	if len(runs) > 0 {
		one.Last = runs[0].State
	}
	return one
}

// view passes a job of any agent to f.
func (s *Scheduler) view(ctx context.Context, id string, f func(*store.Tx, savedJob) error) error {
	return unknownJob(id, s.Store.View(ctx, func(t *store.Tx) error {
		list, err := store.List(t, "SELECT "+jobColumns+" FROM cron WHERE id = $1", []any{id}, scanJob)
		if err == nil && len(list) == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return err
		}
		return f(t, list[0])
	}))
}

// update passes a job of any agent to f, to be changed at a time of the database's clock.
func (s *Scheduler) update(ctx context.Context, id string, f func(t *store.Tx, j savedJob, now time.Time) error) error {
	return unknownJob(id, s.Store.Update(ctx, func(t *store.Tx) error {
		j, err := readJob(t, id)
		if err != nil {
			return err
		}
		ms, err := t.Now()
		if err != nil {
			return err
		}
		return f(t, j, store.FromMillis(ms))
	}))
}

// unknownJob returns an error of the store about a missing job for the operator.
func unknownJob(id string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return tool.Errorf(tool.NotFound, "there is no job %q", id).Try("mcp-tools cron list shows the ids")
	}
	return err
}

// Remove removes a job of any agent, cancels its run, and returns its name.
func (s *Scheduler) Remove(ctx context.Context, id string) (name string, err error) {
	err = s.update(ctx, id, func(t *store.Tx, j savedJob, _ time.Time) error {
		name = j.Name
		return s.delete(t, j)
	})
	return name, err
}

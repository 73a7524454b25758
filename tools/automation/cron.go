package automation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/view"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
)

// cronTool makes jobs that run at times, and shows their outcomes.
type cronTool struct{ s *Scheduler }

func (cronTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "cron", Group: group, Title: "Scheduled jobs", Risk: tool.Writes, Viewed: true,
		Doc: "Schedules a reminder, command, subagent or tool for later, once or repeatedly. " +
			"It runs with your rights; results come to your inbox, of repeated commands only failures.",
		Also: []string{
			"cron_add", "cron_create", "cron_list", "cron_remove", "cron_delete", "cron_update", "cron_run",
			"cron_runs",
			"schedule", "schedule_reminder", "tool::schedule_reminder", "tool::cron_create", "tool::cron_list",
			"tool::cron_delete",
		},
		Means: map[string]string{
			"cron_add": adds, "cron_create": adds, "tool::cron_create": adds, "schedule": adds,
			"schedule_reminder":       adds,
			"tool::schedule_reminder": adds, "cron_remove": removes, "cron_delete": removes,
			"tool::cron_delete": removes,
			"cron_update":       `{"action":"update"}`, "cron_run": `{"action":"run"}`,
			"cron_runs": `{"action":"runs"}`,
		},
		Keywords: "schedule reminder timer later every day hour weekly periodic recurring crontab alarm remind me job",
	}
}

// channel is the channel of the calls of jobs.
const channel = "cron"

func errMakesJobs() error {
	return tool.Errorf(tool.Refused, "a job cannot make jobs").Try("choose another tool")
}

const (
	adds    = `{"action":"add"}`
	removes = `{"action":"remove"}`
	// runWait is how long run waits for the end.
	runWait = 20 * time.Second
)

func (x cronTool) Prepare(_ context.Context, a cronArgs) (tool.Plan, error) {
	plan := tool.Plan{Risk: tool.Reads, Run: func(ctx context.Context) (tool.Result, error) { return x.run(ctx, a) }}
	switch a.Action {
	case "", "list", "runs", "status":
	case "add", "create", "once", "update", "resume":
		plan.Risk, plan.Why = tool.Writes, "it schedules work that runs later with the rights of the agent"
	case "remove", "delete", "cancel", "pause":
		plan.Risk, plan.Why = tool.Writes, "it stops a scheduled job"
	case "run":
		plan.Risk, plan.Why = tool.Writes, "it runs a scheduled job now"
	default:
		return plan, tool.Errorf(tool.Invalid, "action is %q", text.Clip(a.Action, 50)).
			Try("use list, add, update, remove, run, runs, pause, resume or status")
	}
	return plan, nil
}

func (x cronTool) run(ctx context.Context, a cronArgs) (tool.Result, error) {
	res, err := x.act(ctx, a)
	if err == nil && tool.Viewed(ctx) && a.Action != "runs" && a.Action != "status" {
		if shown, err := x.view(ctx); err == nil { // else the page shows the text
			res = res.Showing(shown)
		}
	}
	return res, err
}

// maxViewed bounds the jobs that the page of an app shows.
const maxViewed = 100

// view returns the jobs of the caller for the page of an app, the next one first.
func (x cronTool) view(ctx context.Context) (shown view.Jobs, err error) {
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return shown, err
	}
	err = x.s.Store.View(ctx, func(t *store.Tx) error {
		shown = view.Jobs{Kind: "jobs", Jobs: []view.Job{}}
		all, err := store.List(t, "SELECT "+jobColumns+" FROM cron WHERE agent = $1 AND usr = $2 "+
			"ORDER BY ended, CASE WHEN next_at = 0 THEN 1 ELSE 0 END, next_at, name", []any{owner.Agent, owner.User}, scanJob)
		if err != nil {
			return err
		}
		for _, j := range all {
			switch {
			case !j.Ended.IsZero():
				if len(shown.Ended) < 10 {
					shown.Ended = append(shown.Ended, j.Name)
				}
				continue
			case len(shown.Jobs) == maxViewed:
				shown.More++
				continue
			}
			one := view.Job{
				Name: j.Name, Work: j.Work.String(), Schedule: j.Schedule.String(), Zone: j.Schedule.Zone, Paused: !j.Enabled,
				Failures: j.Failures,
			}
			for at := j.Next; !at.IsZero() && len(one.Next) < 3; at = j.Schedule.Next(at) {
				one.Next = append(one.Next, at.UTC())
			}
			last, err := lastRuns(t, j.ID, 1)
			if err != nil {
				return err
			}
			for _, r := range last {
				one.Last, one.LastAt = r.State, r.Began.UTC()
			}
			shown.Jobs = append(shown.Jobs, one)
		}
		return nil
	})
	return shown, err
}

// act executes an action.
func (x cronTool) act(ctx context.Context, a cronArgs) (tool.Result, error) {
	if x.s == nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable,
			"this call has no schedules").Try("call it through the server")
	}
	a, err := a.flattened()
	if err != nil {
		return tool.Result{}, err
	}
	owner, err := tool.OwnerFrom(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	switch a.Action {
	case "", "list":
		return x.list(ctx, owner)
	case "status":
		return x.status(ctx, owner)
	case "add", "create", "once":
		return x.add(ctx, owner, a)
	}
	if a.ID == "" {
		return tool.Result{}, tool.Errorf(tool.Invalid, "id is required for action %s", a.Action).
			Try("action list shows the names of your jobs")
	}
	switch a.Action {
	case "runs":
		return x.runs(ctx, owner, a)
	case "run":
		return x.runNow(ctx, owner, a)
	}
	return x.change(ctx, owner, a)
}

func (x cronTool) add(ctx context.Context, owner tool.Owner, a cronArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	if running.Grant == nil || running.Usable == nil {
		return tool.Result{}, tool.Errorf(tool.Unavailable, "this call cannot schedule work").
			Try("call it through the server")
	}
	if running.Caller.Channel == channel { // by another tool, such as a script
		return tool.Result{}, errMakesJobs()
	}
	var j savedJob
	err := x.s.Store.Update(ctx, func(t *store.Tx) error {
		// The clock of the store decides when a job is due. It is read once: a delay that has passed before the job is
		// stored, because the store is slow or its clock moves on, is not missed.
		now, err := t.Now()
		if err != nil {
			return err
		}
		j = savedJob{ID: store.NewID(), Owner: owner, Enabled: true}
		if err := a.apply(&j, running.Usable(), store.FromMillis(now)); err != nil {
			return err
		}
		j.Name = nameOf(cmp.Or(a.ID, j.Work.String()))
		child := running.Caller
		child.Channel, child.Session, child.Parent = channel, j.ID, running.Caller.Key()
		j.Grant, j.Asker, j.Call = running.Grant().For(child, policy.Narrow{}), running.Caller, running.Call
		if ended, err := find(t, owner, j.Name); err == nil && !ended.Ended.IsZero() {
			if err := x.s.delete(t, ended); err != nil { // the name is free
				return err
			}
		} else if err != nil && tool.AsError(err).Kind != tool.NotFound {
			return err
		}
		var all, same int
		if err := t.Row("SELECT count(*), coalesce(sum(CASE WHEN name = $3 THEN 1 ELSE 0 END), 0) FROM cron "+
			"WHERE agent = $1 AND usr = $2 AND ended = 0", []any{owner.Agent, owner.User, j.Name}, &all, &same); err != nil {
			return err
		}
		switch {
		case all >= maxJobs:
			return tool.Errorf(tool.Busy, "you have %d jobs, which is the maximum", all).Try("remove some first")
		case same > 0:
			return tool.Errorf(tool.Conflict, "you have a job with the name %q", j.Name).
				Try("update it, or use another name as id")
		}
		if err := x.s.plan(t, &j, store.FromMillis(now)); err != nil {
			return err
		}
		return j.write(t)
	})
	if err != nil {
		return tool.Result{}, err
	}
	while := ""
	if c := tool.CallerFrom(ctx).Channel; c == "stdio" || c == "cli" {
		while = "\nJobs run while a server runs: over stdio that is while a client is open."
	}
	return tool.Textf("Job %s is scheduled: %s.%s%s", j.Name, j.Work, x.upcoming(j), while), nil
}

// nameOf makes the name of a job from given: one short line.
func nameOf(given string) string {
	return text.Clip(tool.Line(given), 60)
}

// upcoming describes the next three runs of a job, in its zone and in UTC.
func (x cronTool) upcoming(j savedJob) string {
	if j.Next.IsZero() {
		return " It has no further runs."
	}
	var lines []string
	at := j.Next
	for range 3 {
		if at.IsZero() {
			break
		}
		lines = append(lines, "\n  "+shown(at, j.Schedule))
		at = j.Schedule.Next(at)
	}
	return " It runs " + j.Schedule.String() + ", next:" + strings.Join(lines, "")
}

func shown(at time.Time, s schedule.Schedule) string {
	zone, err := schedule.Zone(s.Zone)
	if err != nil || s.Zone == "UTC" {
		return at.UTC().Format("Mon 2006-01-02 15:04:05 UTC")
	}
	return at.In(zone).Format("Mon 2006-01-02 15:04:05 -0700 ") + s.Zone + at.UTC().Format(" (15:04:05 UTC)")
}

// find reads the job of an owner by its name or id.
func find(t *store.Tx, owner tool.Owner, name string) (savedJob, error) {
	list, err := store.List(t, "SELECT "+jobColumns+
		` FROM cron WHERE agent = $1 AND usr = $2 AND (name = $3 OR id = $3)`, []any{owner.Agent, owner.User, name},
		scanJob)
	if err != nil {
		return savedJob{}, err
	}
	if len(list) == 0 {
		return savedJob{}, tool.Errorf(tool.NotFound, "you have no job %q", text.Clip(name, 60)).
			Try("action list shows the names of your jobs")
	}
	return list[0], nil
}

// change updates, removes, pauses or resumes a job.
func (x cronTool) change(ctx context.Context, owner tool.Owner, a cronArgs) (tool.Result, error) {
	running := tool.RunningFrom(ctx)
	var said string
	err := x.s.Store.Update(ctx, func(t *store.Tx) error {
		j, err := find(t, owner, a.ID)
		if err == nil {
			j, err = readJob(t, j.ID)
		}
		if err != nil {
			return err
		}
		ms, err := t.Now()
		if err != nil {
			return err
		}
		now := store.FromMillis(ms)
		switch a.Action {
		case "remove", "delete", "cancel":
			said = fmt.Sprintf("Job %s is removed.", j.Name)
			return x.s.delete(t, j)
		case "pause", "resume":
			j.enable(a.Action == "resume")
		case "update":
			if running.Grant == nil || running.Usable == nil {
				return tool.Errorf(tool.Unavailable, "this call cannot schedule work").Try("call it through the server")
			}
			if err := a.apply(&j, running.Usable(), now); err != nil {
				return err
			}
			// This call bounds the job's rights, too: an update is no way to keep rights.
			j.Grant, j.Call = running.Grant().For(j.Grant.Caller, policy.Narrow{}), running.Call
		}
		if err := x.s.plan(t, &j, now); err != nil {
			return err
		}
		said = fmt.Sprintf("Job %s: %s.%s", j.Name, j.Work, x.upcoming(j))
		if !j.Enabled {
			said = fmt.Sprintf("Job %s is paused. Action resume continues it.", j.Name)
		}
		return j.write(t)
	})
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(said), nil
}

// enable lets a job run at its times again, or pauses it.
func (j *savedJob) enable(on bool) {
	if j.Enabled = on; on {
		j.Failures = 0
	}
}

func (x cronTool) list(ctx context.Context, owner tool.Owner) (tool.Result, error) {
	var b strings.Builder
	err := x.s.Store.View(ctx, func(t *store.Tx) error {
		b.Reset()
		all, err := store.List(t, "SELECT "+jobColumns+" FROM cron WHERE agent = $1 AND usr = $2 ORDER BY ended, name",
			[]any{owner.Agent, owner.User}, scanJob)
		if err != nil {
			return err
		}
		var ended []string
		for len(all) > 0 && !all[len(all)-1].Ended.IsZero() { // the last one first
			ended = append(ended, all[len(all)-1].Name)
			all = all[:len(all)-1]
		}
		if len(all) == 0 {
			b.WriteString("You have no jobs. Action add makes one.\n")
		}
		for _, j := range all {
			state := "no further runs"
			switch {
			case !j.Enabled:
				state = "paused"
			case !j.Next.IsZero():
				state = "next " + shown(j.Next, j.Schedule)
			}
			fmt.Fprintf(&b, "%s: %s, %s; %s", j.Name, j.Schedule, j.Work, state)
			last, err := lastRuns(t, j.ID, 1)
			if err != nil {
				return err
			}
			for _, r := range last {
				fmt.Fprintf(&b, "; last %s %s", r.State, shown(r.Began, j.Schedule))
			}
			if j.Failures > 1 {
				fmt.Fprintf(&b, "; failed %d times in a row", j.Failures)
			}
			b.WriteString("\n")
		}
		if len(ended) > 0 {
			fmt.Fprintf(&b, "Ended: %s. Action runs shows their history.", strings.Join(ended[:min(len(ended), 10)], ", "))
		}
		return nil
	})
	return tool.Text(strings.TrimSpace(b.String())), err
}

// A runRow is one run in the history of a job.
type runRow struct {
	ID, State, Output string
	Due, Began, Ended time.Time
	Tokens            int64     // of agents
	Cost              llm.Money // likewise
}

func lastRuns(t *store.Tx, id string, limit int) ([]runRow, error) {
	return store.List(t, `SELECT id, state, output, due, began, ended, tokens, cost FROM cron_run WHERE cron = $1
		ORDER BY began DESC, id DESC LIMIT $2`, []any{id, limit}, func(scan store.Scan) (r runRow, err error) {
		var due, began, ended, cost int64
		err = scan(&r.ID, &r.State, &r.Output, &due, &began, &ended, &r.Tokens, &cost)
		r.Cost = llm.Money(cost)
		r.Due, r.Began, r.Ended = store.FromMillis(due), store.FromMillis(began), store.FromMillis(ended)
		return r, err
	})
}

// runs shows the history of a job, the newest run first.
func (x cronTool) runs(ctx context.Context, owner tool.Owner, a cronArgs) (tool.Result, error) {
	var b strings.Builder
	err := x.s.Store.View(ctx, func(t *store.Tx) error {
		b.Reset()
		j, err := find(t, owner, a.ID)
		if err != nil {
			return err
		}
		list, err := lastRuns(t, j.ID, min(cmp.Or(max(a.Limit, 0), 5), keptRuns))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			fmt.Fprintf(&b, "Job %s has not run yet.%s", j.Name, x.upcoming(j))
		}
		for _, r := range list {
			fmt.Fprintf(&b, "%s %s", shown(r.Began, j.Schedule), r.describe())
		}
		return nil
	})
	return tool.Text(strings.TrimSpace(b.String())), err
}

func (r runRow) describe() string {
	if r.State == runRunning {
		return "continues\n"
	}
	said := fmt.Sprintf("%s after %s", r.State, r.Ended.Sub(r.Began).Round(time.Millisecond))
	if wait := r.Began.Sub(r.Due); wait > late {
		said += fmt.Sprintf(", %s late", wait.Round(time.Second))
	}
	if r.Tokens > 0 {
		said += fmt.Sprintf(", %d tokens", r.Tokens)
	}
	if r.Cost > 0 {
		said += ", " + r.Cost.String()
	}
	return said + "\n" + indent(r.Output)
}

func indent(output string) string {
	if output == "" {
		return ""
	}
	return "  " + strings.ReplaceAll(strings.TrimRight(output, "\n"), "\n", "\n  ") + "\n"
}

// enqueueNow adds a run beside the runs of the schedule.
func (s *Scheduler) enqueueNow(t *store.Tx, j *savedJob, now time.Time) (id string, err error) {
	return s.enqueue(t, j, due{Cron: j.ID, At: now, Manual: true}, time.Time{})
}

// runNow adds a run beside the runs of the schedule, and waits for its end a little.
func (x cronTool) runNow(ctx context.Context, owner tool.Owner, a cronArgs) (tool.Result, error) {
	var id, notDue string
	err := x.s.Store.Update(ctx, func(t *store.Tx) error {
		id, notDue = "", ""
		j, err := find(t, owner, a.ID)
		if err != nil {
			return err
		}
		ms, err := t.Now()
		if err != nil {
			return err
		}
		now := store.FromMillis(ms)
		if a.Mode == "due" && (j.Next.IsZero() || j.Next.After(now)) {
			notDue = fmt.Sprintf("Job %s is not due.%s", j.Name, x.upcoming(j))
			return nil
		}
		id, err = x.s.enqueueNow(t, &j, now)
		return err
	})
	if err != nil || notDue != "" {
		return tool.Text(notDue), err
	}
	defer x.s.Store.Urgent()()
	limit := time.NewTimer(runWait)
	defer limit.Stop()
	for {
		changed := x.s.Store.Wait(jobs.Topic)
		r, err := x.ended(ctx, id)
		if err != nil || r.State != "" {
			return tool.Text("The run: " + strings.TrimSpace(r.describe())), err
		}
		select {
		case <-changed:
		case <-limit.C:
			return tool.Textf("The run continues. Action runs shows its end."), nil
		case <-ctx.Done():
			return tool.Result{}, context.Cause(ctx)
		}
	}
}

// ended returns a run that has ended, else one without a state.
func (x cronTool) ended(ctx context.Context, id string) (r runRow, err error) {
	var began, ended, cost int64
	err = x.s.Store.Row(ctx,
		"SELECT state, output, began, ended, tokens, cost FROM cron_run WHERE id = $1 AND ended > 0",
		[]any{id}, &r.State, &r.Output, &began, &ended, &r.Tokens, &cost)
	r.Cost = llm.Money(cost)
	if errors.Is(err, store.ErrNotFound) {
		return runRow{}, nil
	}
	r.Began, r.Ended, r.Due = store.FromMillis(began), store.FromMillis(ended), store.FromMillis(began)
	return r, err
}

// status reports the number of jobs, the next ones, and the process that runs them.
func (x cronTool) status(ctx context.Context, owner tool.Owner) (tool.Result, error) {
	var all, on, running int
	var next int64
	err := x.s.Store.View(ctx, func(t *store.Tx) error {
		who := []any{owner.Agent, owner.User}
		if err := t.Row(`SELECT count(*), coalesce(sum(enabled), 0),
			coalesce(min(CASE WHEN enabled = 1 AND next_at > 0 THEN next_at END), 0)
			FROM cron WHERE agent = $1 AND usr = $2 AND ended = 0`, who, &all, &on, &next); err != nil {
			return err
		}
		return t.Row(`SELECT count(*) FROM cron_run WHERE ended = 0 AND cron IN
			(SELECT id FROM cron WHERE agent = $1 AND usr = $2)`, who, &running)
	})
	if err != nil {
		return tool.Result{}, err
	}
	said := fmt.Sprintf("%d jobs, %d enabled, %d running.", all, on, running)
	if next > 0 {
		said += " Next: " + shown(store.FromMillis(next), schedule.Schedule{Zone: localZone()}) + "."
	}
	return tool.Text(said +
		" Jobs run while a server on this data runs; mcp-tools serve --jobs-only does nothing else. " +
		"Runs that are due while none runs are made up for as the option missed says."), nil
}

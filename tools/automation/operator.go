package automation

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Room returns the verbs with which operators see and remove the jobs of all agents.
func Room() *room.Room {
	s := new(Scheduler) // which is not started
	return &room.Room{
		Name: "cron", Title: "List and remove the scheduled jobs of all agents",
		Doc: `cron lists and removes the jobs that agents have scheduled with the tool cron.
Agents add and change their own jobs. mcp-tools pause stops the jobs of an agent, or
all jobs, in an emergency.`,
		Open: func(h *room.Host) error { *s = *NewScheduler(SchedulerOptions{Store: h.Store}); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the jobs of all agents, with their next runs", Risk: tool.Reads, Where: room.Operator,
			}, s.list),
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

type removeArgs struct {
	ID string `json:"id" jsonschema:"the job, as in list"`
}

func (s *Scheduler) remove(ctx context.Context, args removeArgs) (tool.Result, error) {
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
			one := ScheduledJob{
				ID: j.ID, Agent: j.Owner.Agent, User: j.Owner.User, Name: j.Name, Schedule: j.Schedule.String(),
				Work: j.Work.String(), Paused: !j.Enabled, Next: j.Next, Failures: j.Failures,
			}
			last, err := lastRuns(t, j.ID, 1)
			if err != nil {
				return err
			}
			for _, r := range last {
				one.Last = r.State
			}
			list = append(list, one)
		}
		return nil
	})
	return list, err
}

// Remove removes a job of any agent, cancels its run, and returns its name.
func (s *Scheduler) Remove(ctx context.Context, id string) (name string, err error) {
	err = s.Store.Update(ctx, func(t *store.Tx) error {
		j, err := readJob(t, id)
		if err != nil {
			return err
		}
		name = j.Name
		return s.delete(t, j)
	})
	if errors.Is(err, store.ErrNotFound) {
		err = tool.Errorf(tool.NotFound, "there is no job %q", id).Try("mcp-tools cron list shows the ids")
	}
	return name, err
}

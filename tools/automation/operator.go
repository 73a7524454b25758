package automation

import (
	"context"
	"errors"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

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

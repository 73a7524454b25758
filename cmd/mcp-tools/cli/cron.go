package cli

import (
	"cmp"
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/tools/automation"
)

func (a *CLI) cronCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "cron",
		Short: "List and remove the scheduled jobs of all agents",
		Long: `cron lists and removes the jobs that agents have scheduled with the tool cron.
Agents add and change their own jobs. mcp-tools pause stops the jobs of an agent, or
all jobs, in an emergency.`,
	}, &cobra.Command{
		Use: "list", Short: "List the jobs of all agents, with their next runs",
		Args: takes(), RunE: on(a.withScheduler, a.listJobs),
	}, &cobra.Command{
		Use: "remove ID", Short: "Remove a job, and cancel its run", Args: takes("ID"),
		RunE: on(a.withScheduler, func(ctx context.Context, s *automation.Scheduler, args []string) error {
			name, err := s.Remove(ctx, args[0])
			if err != nil {
				return err
			}
			return a.report(map[string]string{"removed": args[0]}, "Removed the job %s.", name)
		}),
	})
}

// withScheduler passes a scheduler that runs no jobs.
func (a *CLI) withScheduler(use func(*automation.Scheduler) error) error {
	return a.WithStore(func(s *store.Store) error {
		return use(automation.NewScheduler(automation.SchedulerOptions{Store: s}))
	})
}

func (a *CLI) listJobs(ctx context.Context, s *automation.Scheduler, _ []string) error {
	list, err := s.Jobs(ctx)
	if err != nil {
		return err
	}
	head := []string{"ID", "AGENT", "USER", "NEXT RUN", "LAST", "JOB", "WORK"}
	return showList(a, list, "No agent has scheduled a job.", head, func(j automation.ScheduledJob) []string {
		next := "none"
		switch {
		case j.Paused:
			next = "paused"
		case !j.Next.IsZero():
			next = j.Next.Local().Format(time.DateTime)
		}
		return []string{j.ID, cmp.Or(j.Agent, "-"), cmp.Or(j.User, "-"), next, cmp.Or(j.Last, "-"), j.Name, j.Work}
	})
}

package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
)

func (a *CLI) pauseCommand() *cobra.Command {
	p := pauses.Pause{By: app.SystemUser()}
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Stop all calls, or those of an agent or a session",
		Long: `pause is the emergency stop. On all servers with the same store it ends running
calls, commands in the background and subagents, and refuses new calls, also after
a restart. A server notices the pause within a second; a call that comes before it
does may still run. mcp-tools resume ends the pause.

What a stopped call has changed until then stays changed.`,
		Example: `  mcp-tools pause --reason 'the deployment is broken'
  mcp-tools pause --agent builder
  mcp-tools pause --session stdio-4711-a1b2c3`,
		Args: takes(),
		RunE: on(a.WithStore, func(ctx context.Context, s *store.Store, _ []string) error {
			if err := pauses.Add(ctx, s, p); err != nil {
				return err
			}
			return a.showPauses(ctx, s)
		}),
	}
	pauseFlags(cmd, &p)
	cmd.Flags().StringVar(&p.Reason, "reason", "no reason was given", "reason, for the agents and their users")
	return cmd
}

// pauseFlags adds the flags that say who is paused.
func pauseFlags(cmd *cobra.Command, p *pauses.Pause) {
	cmd.Flags().StringVar(&p.Agent, "agent", "", "only this agent")
	cmd.Flags().StringVar(&p.Session, "session", "", "only this session; mcp-tools audit tail shows sessions")
}

func (a *CLI) resumeCommand() *cobra.Command {
	var p pauses.Pause
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "End all pauses, or that of an agent or a session",
		Long: `resume ends pauses. Without flags it ends all of them, with flags only the pause
that was made with the same flags.`,
		Example: "  mcp-tools resume\n  mcp-tools resume --agent builder",
		Args:    takes(),
		RunE: on(a.WithStore, func(ctx context.Context, s *store.Store, _ []string) error {
			all := p.Agent == "" && p.Session == ""
			n, err := pauses.Remove(ctx, s, p.Agent, p.Session, all)
			if err == nil && n == 0 && !all {
				err = fmt.Errorf("there is no such pause; mcp-tools resume without flags ends all pauses")
			}
			if err != nil {
				return err
			}
			return a.showPauses(ctx, s)
		}),
	}
	pauseFlags(cmd, &p)
	return cmd
}

// showPauses prints who is paused now.
func (a *CLI) showPauses(ctx context.Context, s *store.Store) error {
	list, err := pauses.List(ctx, s)
	if err != nil {
		return err
	}
	head := []string{"PAUSED AGENT", "SESSION", "SINCE", "BY", "REASON"}
	return showList(a, list, "Nothing is paused.", head, func(p pauses.Pause) []string {
		return []string{
			cmp.Or(p.Agent, "all"), cmp.Or(p.Session, "all"), p.At.Local().Format("15:04:05"), p.By,
			terminal.Short(terminal.OneLine(p.Reason), 80),
		}
	})
}

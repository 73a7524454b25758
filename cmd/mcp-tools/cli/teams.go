package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

func (a *CLI) teamsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "teams",
		Short: "Manage teams of agents",
		Long: `teams manages the teams whose members share a board of tasks, messages and files.
A member is an agent in any client: start it with --agent NAME, or give its token
an agent. An agent is in one team at most.`,
	}, a.teamsCreateCommand(), a.teamsListCommand(), a.teamsShowCommand(), a.teamsAddCommand(), a.teamsRemoveCommand(),
		a.teamsSetCommand(), a.teamsArchiveCommand())
}

// withTeams opens the teams of the store.
func (a *CLI) withTeams(use func(*teams.Teams) error) error {
	return a.WithStore(func(s *store.Store) error { return use(teams.New(teams.Options{Store: s})) })
}

// teamFlags are the flags for the settings of a team.
type teamFlags struct {
	teams.Settings
	description string
	cmd         *cobra.Command
}

func (f *teamFlags) add(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringVar(&f.description, "description", "", "what the team is for")
	flags.BoolVar(&f.Isolated, "isolated", false, "each user has a board and files of their own")
	flags.StringSliceVar(&f.AllowUsers, "allow-user", nil, "users that may use the team (default: all)")
	flags.StringSliceVar(&f.DenyUsers, "deny-user", nil, "users that may not")
	flags.StringSliceVar(&f.AllowChannels, "allow-channel", nil,
		"channels through which it may be used, such as stdio or http (default: all)")
	flags.StringSliceVar(&f.DenyChannels, "deny-channel", nil, "channels through which it may not")
	flags.StringSliceVar(&f.Quiet, "quiet", nil,
		"what the lead does not hear of: completed, failed, stale, review, progress, question, file")
	flags.StringSliceVar(&f.EscalationActions, "escalate", nil,
		"actions that members leave to the lead: "+strings.Join(teams.EscalationActions(), ", "))
	flags.StringVar(&f.EscalationMode, "escalation-mode", "",
		"review: the lead is notified, and complete becomes review (default); reject: they are refused")
	flags.IntVar(&f.LockMinutes, "lock-minutes", 0, "how long a member holds a task without progress (default: 30)")
	flags.IntVar(&f.FollowupMinutes, "followup-minutes", 0, "time between reminders of a question (default: 30)")
	flags.IntVar(&f.FollowupMax, "followup-max", 0, "reminders of a question (default: no limit)")
}

// apply changes what flags were given for.
func (f *teamFlags) apply(t *teams.Team) error {
	for _, kind := range f.Quiet {
		if err := oneOf("quiet", kind, "completed", "failed", "stale", "review", "progress", "question",
			"file"); err != nil {
			return err
		}
	}
	for _, action := range f.EscalationActions {
		if err := oneOf("escalate", action, teams.EscalationActions()...); err != nil {
			return err
		}
	}
	if f.EscalationMode != "" {
		if err := oneOf("escalation-mode", f.EscalationMode, teams.ReviewMode, teams.RejectMode); err != nil {
			return err
		}
	}
	if f.LockMinutes < 0 || f.FollowupMinutes < 0 || f.FollowupMax < 0 {
		return app.Usagef("minutes and reminders are 0 or more")
	}
	to := &t.Settings
	for name, set := range map[string]func(){
		"description":      func() { t.Description = f.description },
		"isolated":         func() { to.Isolated = f.Isolated },
		"allow-user":       func() { to.AllowUsers = f.AllowUsers },
		"deny-user":        func() { to.DenyUsers = f.DenyUsers },
		"allow-channel":    func() { to.AllowChannels = f.AllowChannels },
		"deny-channel":     func() { to.DenyChannels = f.DenyChannels },
		"quiet":            func() { to.Quiet = f.Quiet },
		"escalate":         func() { to.EscalationActions = f.EscalationActions },
		"escalation-mode":  func() { to.EscalationMode = f.EscalationMode },
		"lock-minutes":     func() { to.LockMinutes = f.LockMinutes },
		"followup-minutes": func() { to.FollowupMinutes = f.FollowupMinutes },
		"followup-max":     func() { to.FollowupMax = f.FollowupMax },
	} {
		if f.cmd.Flags().Changed(name) {
			set()
		}
	}
	return nil
}

func (a *CLI) teamsCreateCommand() *cobra.Command {
	var f teamFlags
	var lead string
	var members []string
	cmd := &cobra.Command{
		Use:     "create NAME --lead AGENT",
		Short:   "Create a team",
		Example: `  mcp-tools teams create site --lead claude --member cursor --member builder`,
		Args:    takes("NAME"),
		RunE: on(a.withTeams, func(ctx context.Context, t *teams.Teams, args []string) error {
			if lead == "" {
				return app.Usagef("a team needs a lead; name an agent with --lead")
			}
			team := teams.Team{Name: args[0], CreatedBy: app.SystemUser()}
			if err := f.apply(&team); err != nil {
				return err
			}
			if err := t.Create(ctx, team, lead); err != nil {
				return err
			}
			for _, agent := range members {
				if err := t.Add(ctx, team.Name, agent, teams.Member); err != nil {
					return err
				}
			}
			return a.say("team %s was created; %s leads %s", team.Name, lead, text.Plural(len(members), "member"))
		}),
	}
	cmd.Flags().StringVar(&lead, "lead", "", "the agent that creates tasks and decides")
	cmd.Flags().StringSliceVar(&members, "member", nil, "an agent that does tasks; may be repeated")
	f.add(cmd)
	return cmd
}

func (a *CLI) teamsListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the teams", Args: takes(), RunE: on(a.withTeams, a.listTeams),
	}
}

func (a *CLI) listTeams(ctx context.Context, t *teams.Teams, _ []string) error {
	all, err := t.Overview(ctx, "")
	if err != nil {
		return err
	}
	head := []string{"TEAM", "STATUS", "LEAD", "MEMBERS", "OPEN TASKS"}
	const none = "There is no team; mcp-tools teams create creates one."
	return showList(a, all, none, head, func(team teams.Summary) []string {
		lead := ""
		if len(team.Members) > 0 && team.Members[0].Role == teams.Lead {
			lead = team.Members[0].Agent
		}
		var open int64
		for status, n := range team.Tasks {
			if status != teams.Completed && status != teams.Cancelled && status != teams.Failed {
				open += n
			}
		}
		return []string{team.Name, team.Status, lead, fmt.Sprint(len(team.Members)), fmt.Sprint(open)}
	})
}

func (a *CLI) teamsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show the members, the settings and the tasks of a team", Args: takes("NAME"),
		RunE: on(a.withTeams, func(ctx context.Context, t *teams.Teams, args []string) error {
			all, err := t.Overview(ctx, args[0])
			if err != nil {
				return err
			}
			return a.show(all[0], func(w io.Writer) error { return a.printTeam(w, all[0]) })
		}),
	}
}

func (a *CLI) printTeam(w io.Writer, team teams.Summary) error {
	fmt.Fprintf(w, "%s, %s\n", team.Name, team.Status)
	if team.Description != "" {
		fmt.Fprintln(w, team.Description)
	}
	for _, line := range settingLines(team.Settings) {
		fmt.Fprintln(w, line)
	}
	var counts []string
	for status, n := range team.Tasks {
		counts = append(counts, fmt.Sprintf("%d %s", n, status))
	}
	slices.Sort(counts)
	if len(counts) == 0 {
		counts = []string{"none"}
	}
	fmt.Fprintf(w, "tasks: %s\n", strings.Join(counts, ", "))
	rows := [][]string{{"AGENT", "ROLE", "LAST SEEN"}}
	for _, m := range team.Members {
		seen := "never"
		if m.Seen > 0 {
			seen = store.FromMillis(m.Seen).Format(time.DateTime)
		}
		rows = append(rows, []string{m.Agent, string(m.Role), seen})
	}
	return a.painter(w).Columns(w, rows)
}

// settingLines returns the settings that are not the defaults.
func settingLines(s teams.Settings) (lines []string) {
	for _, one := range []struct {
		name   string
		values []string
	}{
		{"allowed users", s.AllowUsers}, {"denied users", s.DenyUsers}, {"allowed channels", s.AllowChannels},
		{"denied channels", s.DenyChannels}, {"the lead does not hear of", s.Quiet},
		{"left to the lead", s.EscalationActions},
	} {
		if len(one.values) > 0 {
			lines = append(lines, one.name+": "+strings.Join(one.values, ", "))
		}
	}
	if s.Isolated {
		lines = append(lines, "each user has a board of their own")
	}
	for _, one := range []struct {
		name  string
		value int
	}{
		{"minutes of a lock", s.LockMinutes}, {"minutes between reminders", s.FollowupMinutes},
		{"reminders", s.FollowupMax},
	} {
		if one.value > 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", one.name, one.value))
		}
	}
	return lines
}

func (a *CLI) teamsAddCommand() *cobra.Command {
	role := ""
	cmd := &cobra.Command{
		Use: "add NAME AGENT", Short: "Add an agent to a team, or change its role",
		Example: `  mcp-tools teams add site reader --role reviewer`,
		Args:    takes("NAME", "AGENT"),
		RunE: on(a.withTeams, func(ctx context.Context, t *teams.Teams, args []string) error {
			if err := oneOf("role", role, "lead", "member", "reviewer"); err != nil {
				return err
			}
			if err := t.Add(ctx, args[0], args[1], teams.Role(role)); err != nil {
				return err
			}
			return a.say("%s is %s of %s", args[1], role, args[0])
		}),
	}
	cmd.Flags().StringVar(&role, "role", "member", "lead, member or reviewer")
	return cmd
}

func (a *CLI) teamsRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME AGENT", Short: "Remove an agent from a team; its tasks are for other members",
		Args: takes("NAME", "AGENT"),
		RunE: on(a.withTeams, func(ctx context.Context, t *teams.Teams, args []string) error {
			if err := t.Remove(ctx, args[0], args[1]); err != nil {
				return err
			}
			return a.say("%s was removed from %s", args[1], args[0])
		}),
	}
}

func (a *CLI) teamsSetCommand() *cobra.Command {
	var f teamFlags
	cmd := &cobra.Command{
		Use: "set NAME", Short: "Change the settings of a team that flags are given for",
		Example: `  mcp-tools teams set site --lock-minutes 60 --quiet progress`,
		Args:    takes("NAME"),
		RunE: on(a.withTeams, func(ctx context.Context, t *teams.Teams, args []string) error {
			if err := t.Set(ctx, args[0], f.apply); err != nil {
				return err
			}
			return a.say("%s was changed", args[0])
		}),
	}
	f.add(cmd)
	return cmd
}

func (a *CLI) teamsArchiveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "archive NAME", Short: "End a team: open tasks are cancelled, and its agents can join others",
		Args: takes("NAME"),
		RunE: on(a.withTeams, func(ctx context.Context, t *teams.Teams, args []string) error {
			if err := t.Archive(ctx, args[0]); err != nil {
				return err
			}
			return a.say("%s was archived", args[0])
		}),
	}
}

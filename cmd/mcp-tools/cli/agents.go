package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

func (a *CLI) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Manage the context files of agents",
		Long: `agents manages the context files of agents: SOUL.md, AGENTS.md, TOOLS.md,
IDENTITY.md, USER.md, USER_PREDEFINED.md and BOOTSTRAP.md. Changes apply to all users of an
agent who have no copies of their own; with --user, to the copies of that user.`,
	}
	return group(cmd,
		&cobra.Command{
			Use: "list", Short: "List the agents that have context files or settings",
			Args: takes(), RunE: a.onAgents(a.listAgents),
		},
		&cobra.Command{
			Use: "show AGENT [NAME]", Short: "List the context files of an agent, or print one",
			Example: `  mcp-tools agents show helper
  mcp-tools agents show helper USER.md --user ann`,
			Args: func(cmd *cobra.Command, args []string) error {
				if len(args) == 2 {
					return nil
				}
				return takes("AGENT")(cmd, args)
			},
			RunE: a.onAgents(a.showAgent),
		},
		&cobra.Command{
			Use: "set AGENT NAME FILE", Short: "Set a context file to the content of FILE, or of stdin for -",
			Example: `  mcp-tools agents set helper SOUL.md soul.md`,
			Args:    takes("AGENT", "NAME", "FILE"), RunE: a.onAgents(a.setAgent),
		},
		&cobra.Command{
			Use: "remove AGENT NAME", Short: "Remove a copy of a context file",
			Args: takes("AGENT", "NAME"), RunE: a.onAgents(a.removeAgent),
		},
		&cobra.Command{
			Use: "undo AGENT NAME", Short: "Restore the previous version of a context file",
			Args: takes("AGENT", "NAME"), RunE: a.onAgents(a.undoAgent),
		},
		&cobra.Command{
			Use: "import AGENT DIR", Short: "Set the context files that a directory contains",
			Args: takes("AGENT", "DIR"), RunE: a.onAgents(a.importAgent),
		},
		a.exportAgentCommand())
}

func (a *CLI) exportAgentCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use: "export AGENT DIR", Short: "Write the context files of an agent to a directory",
		Args: takes("AGENT", "DIR"),
		RunE: a.onAgents(func(ctx context.Context, c agentsCall) error { return a.exportAgent(ctx, c, force) }),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace files with different content")
	return cmd
}

// An agentsCall is one call of a subcommand of agents.
type agentsCall struct {
	*contextfiles.Files
	agents []contextfiles.Agent
	args   []string
	owner  tool.Owner
	user   string
	by     memory.Author
}

// onAgents opens the context files. The user is the one of --user only, not the
// user of the settings.
func (a *CLI) onAgents(use func(context.Context, agentsCall) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		loaded, err := a.Load()
		if err != nil {
			return err
		}
		o, err := a.LoadStoreOptions()
		if err != nil {
			return err
		}
		s, err := store.OpenLazy(o)
		if err != nil {
			return err
		}
		defer s.Close()
		c := agentsCall{agents: app.Agents(loaded.Config.Agents), args: args, by: memory.Author{Name: app.SystemUser()}}
		if name := a.Overrides["connections.stdio.user"]; name != app.NoUser {
			c.user = name
		}
		if len(args) > 0 {
			if args[0] == "" {
				return app.Usagef("the name of the agent is empty")
			}
			c.owner = tool.Owner{Agent: args[0], User: c.user}
		}
		c.Files = contextfiles.New(app.MemoryRows(s, loaded.Config), c.agents)
		return use(cmd.Context(), c)
	}
}

func (a *CLI) listAgents(ctx context.Context, c agentsCall) error {
	kept, err := c.Stored(ctx, "")
	if err != nil {
		return err
	}
	type line struct {
		Agent, Kind      string
		Documents, Users int
	}
	var lines []*line
	byName := map[string]*line{}
	at := func(name, kind string) *line {
		if byName[name] == nil {
			byName[name] = &line{Agent: name, Kind: kind}
			lines = append(lines, byName[name])
		}
		return byName[name]
	}
	for _, agent := range c.agents {
		if at(agent.Name, "open"); agent.Predefined {
			byName[agent.Name].Kind = "predefined"
		}
	}
	last := tool.Owner{}
	for _, e := range kept { // ordered by agent, then by user
		l := at(e.Owner.Agent, "open")
		if l.Documents++; e.Owner.User != "" && e.Owner != last {
			l.Users++
		}
		last = e.Owner
	}
	const none = "No agent has context files; mcp-tools agents set creates one."
	return showList(a, lines, none, []string{"AGENT", "KIND", "DOCUMENTS", "USERS"}, func(l *line) []string {
		return []string{l.Agent, l.Kind, fmt.Sprint(l.Documents), fmt.Sprint(l.Users)}
	})
}

func (a *CLI) showAgent(ctx context.Context, c agentsCall) error {
	if len(c.args) == 1 {
		return a.showCopies(ctx, c)
	}
	d, err := c.Get(tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: c.args[0], User: c.user}}), c.args[1])
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("agent %q has no context file %s", c.args[0], c.args[1])
	}
	if err != nil {
		return err
	}
	return a.show(d, func(w io.Writer) error {
		_, err := io.WriteString(w, terminal.ForReader(w, d.Text))
		return err
	})
}

// A copyLine is one copy of a context file in a list.
type copyLine struct {
	Name, Level, User string
	Bytes             int64
	Changed           time.Time
}

func (a *CLI) showCopies(ctx context.Context, c agentsCall) error {
	kept, err := c.Stored(ctx, c.args[0])
	if err != nil {
		return err
	}
	laid, err := c.Directory(c.args[0])
	if err != nil {
		return err
	}
	lines := []copyLine{}
	for _, d := range laid {
		lines = append(lines, copyLine{d.Name, string(d.Level), "", int64(len(d.Text)), d.Modified})
	}
	for _, e := range kept {
		level := contextfiles.AgentLevel
		if e.Owner.User != "" {
			level = contextfiles.UserLevel
		}
		if c.user == "" || e.Owner.User == c.owner.User {
			lines = append(lines, copyLine{e.Path, string(level), e.Owner.User, e.Size, e.Updated})
		}
	}
	return showList(a, lines, "", []string{"NAME", "LEVEL", "USER", "BYTES", "CHANGED"}, func(l copyLine) []string {
		return []string{l.Name, l.Level, l.User, fmt.Sprint(l.Bytes), l.Changed.Format(time.DateTime)}
	})
}

func (a *CLI) setAgent(ctx context.Context, c agentsCall) error {
	from := a.In
	if c.args[2] != "-" {
		file, err := os.Open(c.args[2])
		if err != nil {
			return err
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, 4*contextfiles.MaxText+1))
	if err != nil {
		return err
	}
	if err := c.Set(ctx, c.owner, c.by, c.args[1], string(text)); err != nil {
		return err
	}
	return a.say("%s was written", c.args[1])
}

func (a *CLI) removeAgent(ctx context.Context, c agentsCall) error {
	found, err := c.Drop(ctx, c.owner, c.by, c.args[1])
	if err == nil && !found {
		err = fmt.Errorf("the store has no copy of %s; mcp-tools agents show %s lists the context files", c.args[1],
			c.args[0])
	}
	if err != nil {
		return err
	}
	return a.say("%s was removed; mcp-tools agents undo restores it", c.args[1])
}

func (a *CLI) undoAgent(ctx context.Context, c agentsCall) error {
	found, err := c.Undo(ctx, c.owner, c.by, c.args[1])
	if err == nil && !found {
		err = fmt.Errorf("there is no previous version of %s", c.args[1])
	}
	if err != nil {
		return err
	}
	return a.say("the previous version of %s was restored", c.args[1])
}

func (a *CLI) importAgent(ctx context.Context, c agentsCall) error {
	from := contextfiles.New(nil, []contextfiles.Agent{{Name: c.args[0], Dir: c.args[1]}})
	list, err := from.Directory(c.args[0])
	if err != nil {
		return err
	}
	for _, d := range list {
		if err := c.Set(ctx, c.owner, c.by, d.Name, d.Text); err != nil {
			return err
		}
	}
	return a.say("%s written", text.Plural(len(list), "context file"))
}

func (a *CLI) exportAgent(ctx context.Context, c agentsCall, force bool) error {
	kept, err := c.Stored(ctx, c.args[0])
	if err != nil {
		return err
	}
	n := 0
	for _, e := range kept {
		if e.Owner != c.owner {
			continue
		}
		text, found, err := c.Copy(ctx, c.owner, e.Path)
		if err != nil {
			return err
		}
		if !found { // removed since it was listed
			continue
		}
		if err := (memory.Dir{Path: c.args[1], Force: force}).Write(
			filepath.FromSlash(e.Path), []byte(text), e.Updated,
		); err != nil {
			return err
		}
		n++
	}
	if own, err := c.Directory(c.args[0]); n == 0 && err == nil && len(own) > 0 {
		return a.say(
			"no context file written: the store has none; those of %s are in the directory that the settings name",
			c.args[0],
		)
	}
	return a.say("%s written to %s", text.Plural(n, "context file"), c.args[1])
}

// say prints a message about what was done.
func (a *CLI) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

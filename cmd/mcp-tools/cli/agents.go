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
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/briefing"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

func (a *CLI) agentsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agents",
		Short: "Look after what agents are told about themselves and their users",
		Long: `agents is about SOUL.md, AGENTS.md, IDENTITY.md, USER.md, USER_PREDEFINED.md and
BOOTSTRAP.md. What it writes counts for all users of an agent, as far as they
have no copies of their own; with --user it is about the copies of one user.`,
	}
	return group(cmd,
		&cobra.Command{
			Use: "list", Short: "List the agents that something is kept for, or said about",
			Args: takes(), RunE: a.onAgents(a.listAgents),
		},
		&cobra.Command{
			Use: "show AGENT [NAME]", Short: "List the copies of an agent and its users, or print the one that counts",
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
			Use: "set AGENT NAME FILE", Short: "Write a document from a file, or from stdin for -",
			Example: `  mcp-tools agents set helper SOUL.md soul.md`,
			Args:    takes("AGENT", "NAME", "FILE"), RunE: a.onAgents(a.setAgent),
		},
		&cobra.Command{
			Use: "remove AGENT NAME", Short: "Remove a copy of a document",
			Args: takes("AGENT", "NAME"), RunE: a.onAgents(a.removeAgent),
		},
		&cobra.Command{
			Use: "undo AGENT NAME", Short: "Make the former version of a copy the present one",
			Args: takes("AGENT", "NAME"), RunE: a.onAgents(a.undoAgent),
		},
		&cobra.Command{
			Use: "import AGENT DIR", Short: "Write the documents that lie in a directory",
			Args: takes("AGENT", "DIR"), RunE: a.onAgents(a.importAgent),
		},
		a.exportAgentCommand())
}

func (a *CLI) exportAgentCommand() *cobra.Command {
	force := false
	cmd := &cobra.Command{
		Use: "export AGENT DIR", Short: "Write copies of documents into a directory",
		Args: takes("AGENT", "DIR"),
		RunE: a.onAgents(func(ctx context.Context, c agentsCall) error { return a.exportAgent(ctx, c, force) }),
	}
	cmd.Flags().BoolVar(&force, "force", false, "replace files that say something else")
	return cmd
}

// An agentsCall is one of these commands under way.
type agentsCall struct {
	*briefing.Briefing
	agents []briefing.Agent
	args   []string
	owner  memory.Owner
	user   string
	by     memory.Hand
}

// onAgents opens what agents are told. A user is one that the command line
// names: whom the settings serve is another matter.
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
		c := agentsCall{agents: app.Agents(loaded.Config.Agents), args: args, by: memory.Hand{Author: app.SystemUser()}}
		if name := a.Overrides["connections.stdio.user"]; name != app.NoUser {
			c.user = name
		}
		if len(args) > 0 {
			if args[0] == "" {
				return app.Usagef("the name of the agent is empty")
			}
			c.owner, _ = memory.Whose(tool.Caller{Agent: args[0], User: c.user})
		}
		c.Briefing = app.NewBriefing(s, func() bool { return store.Missing(o.DSN) }, c.agents)
		return use(cmd.Context(), c)
	}
}

func (a *CLI) listAgents(ctx context.Context, c agentsCall) error {
	kept, err := c.Kept(ctx, "")
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
		o, _ := memory.Whose(tool.Caller{Agent: agent.Name})
		if at(o.Agent, "open"); agent.Predefined {
			byName[o.Agent].Kind = "predefined"
		}
	}
	last := memory.Owner{}
	for _, e := range kept { // ordered by agent, then by user
		l := at(e.Owner.Agent, "open")
		if l.Documents++; e.Owner.User != "" && e.Owner != last {
			l.Users++
		}
		last = e.Owner
	}
	return a.show(append([]*line{}, lines...), func(w io.Writer) error {
		if len(lines) == 0 {
			_, err := fmt.Fprintln(w, "Nothing is kept for any agent; mcp-tools agents set begins.")
			return err
		}
		rows := [][]string{{"AGENT", "KIND", "DOCUMENTS", "USERS"}}
		for _, l := range lines {
			rows = append(rows, []string{l.Agent, l.Kind, fmt.Sprint(l.Documents), fmt.Sprint(l.Users)})
		}
		return a.painter(w).Columns(w, rows)
	})
}

func (a *CLI) showAgent(ctx context.Context, c agentsCall) error {
	if len(c.args) == 1 {
		return a.showCopies(ctx, c)
	}
	d, err := c.Get(tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: c.args[0], User: c.user}}), c.args[1])
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("agent %q has no %s", c.args[0], c.args[1])
	}
	if err != nil {
		return err
	}
	return a.show(d, func(w io.Writer) error {
		_, err := io.WriteString(w, terminal.ForReader(w, d.Text))
		return err
	})
}

// A copyLine is one copy of a document in a list.
type copyLine struct {
	Name, Level, User string
	Bytes             int64
	Changed           time.Time
}

func (a *CLI) showCopies(ctx context.Context, c agentsCall) error {
	kept, err := c.Kept(ctx, c.args[0])
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
		level := briefing.OfAgent
		if e.Owner.User != "" {
			level = briefing.OfUser
		}
		if c.user == "" || e.Owner.User == c.owner.User {
			lines = append(lines, copyLine{e.Path, string(level), e.Owner.User, e.Size, e.Updated})
		}
	}
	return a.show(lines, func(w io.Writer) error {
		rows := [][]string{{"NAME", "LEVEL", "USER", "BYTES", "CHANGED"}}
		for _, l := range lines {
			rows = append(rows, []string{l.Name, l.Level, l.User, fmt.Sprint(l.Bytes), l.Changed.Format(time.DateTime)})
		}
		return a.painter(w).Columns(w, rows)
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
	text, err := io.ReadAll(io.LimitReader(from, 4*briefing.MostText+1))
	if err != nil {
		return err
	}
	if err := c.Set(ctx, c.owner, c.by, c.args[1], string(text)); err != nil {
		return err
	}
	return a.say("%s is written", c.args[1])
}

func (a *CLI) removeAgent(ctx context.Context, c agentsCall) error {
	found, err := c.Drop(ctx, c.owner, c.by, c.args[1])
	if err == nil && !found {
		err = fmt.Errorf("the store has no such copy of %s; mcp-tools agents show %s lists what there is", c.args[1], c.args[0])
	}
	if err != nil {
		return err
	}
	return a.say("%s is removed; mcp-tools agents undo brings it back", c.args[1])
}

func (a *CLI) undoAgent(ctx context.Context, c agentsCall) error {
	found, err := c.Undo(ctx, c.owner, c.by, c.args[1])
	if err == nil && !found {
		err = fmt.Errorf("no former version of %s is kept", c.args[1])
	}
	if err != nil {
		return err
	}
	return a.say("%s is what it was before", c.args[1])
}

func (a *CLI) importAgent(ctx context.Context, c agentsCall) error {
	from := briefing.New(nil, []briefing.Agent{{Name: c.args[0], Dir: c.args[1]}})
	list, err := from.Directory(c.args[0])
	if err != nil {
		return err
	}
	for _, d := range list {
		if err := c.Set(ctx, c.owner, c.by, d.Name, d.Text); err != nil {
			return err
		}
	}
	return a.say("%s written", text.Plural(len(list), "document"))
}

func (a *CLI) exportAgent(ctx context.Context, c agentsCall, force bool) error {
	kept, err := c.Kept(ctx, c.args[0])
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
		if !found { // gone meanwhile
			continue
		}
		if err := (exportDir{dir: c.args[1], force: force}).Write(filepath.FromSlash(e.Path), []byte(text), e.Updated); err != nil {
			return err
		}
		n++
	}
	if own, err := c.Directory(c.args[0]); n == 0 && err == nil && len(own) > 0 {
		return a.say("no document written: the store has none; what %s is told lies in the directory that the settings name", c.args[0])
	}
	return a.say("%s written to %s", text.Plural(n, "document"), c.args[1])
}

// say tells a person what was done.
func (a *CLI) say(format string, args ...any) error {
	_, err := fmt.Fprintf(a.Out, format+"\n", args...)
	return err
}

package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/vault"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
)

func (a *CLI) bridgeCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "bridge",
		Short: "Give agents the tools of other MCP servers",
		Long: `bridge manages other MCP servers, whose tools agents get as SERVER__TOOL. Servers are
added here or in the settings (mcp_servers). Adding one accepts the tools that it has
then; a tool that changes later is held back until you approve the change.`,
	}, a.bridgeAddCommand(), a.bridgeImportCommand(), a.bridgeListCommand(), a.bridgeShowCommand(),
		a.bridgeTestCommand(), a.bridgeApproveCommand(), a.bridgeLoginCommand(), a.bridgeGrantCommand(),
		a.bridgeRevokeCommand(), a.bridgeRequestsCommand(), a.bridgeRemoveCommand())
}

// onBridge opens the bridge for a command.
func (a *CLI) onBridge(use func(ctx context.Context, b *bridge.Bridge, args []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		return a.WithBridge(cmd.Context(), func(b *bridge.Bridge) error { return use(cmd.Context(), b, args) })
	}
}

func (a *CLI) bridgeAddCommand() *cobra.Command {
	var s bridge.Server
	var environment, headers, risks []string
	var replace, offline bool
	cmd := &cobra.Command{
		Use: "add NAME URL | add NAME -- COMMAND [ARG...]", Short: "Add a server and accept its tools",
		Long: `add adds a server by its URL, or by a command that starts it in a sandbox. It connects to the
server, shows its tools and accepts them. With --offline it does not connect: then the
tools that it has at the first connection are accepted. Callers get them in profiles that
allow them: full does, coding and lean do not.`,
		Example: `  mcp-tools bridge add docs https://docs.example.com/mcp --header 'Authorization=Bearer secret:docs'
  mcp-tools bridge add memory -- npx -y @modelcontextprotocol/server-memory
  mcp-tools bridge add files --write ~/notes -- npx -y @modelcontextprotocol/server-filesystem ~/notes`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return app.Usagef("bridge add needs a name, and a URL or -- COMMAND; see %s -h", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.ArgsLenAtDash() == 1 {
				s.Command = args[1:]
			} else if s.URL = args[1]; len(args) > 2 {
				return app.Usagef("write -- before the command of the server: mcp-tools bridge add %s -- %s", args[0],
					strings.Join(args[1:], " "))
			}
			if s.Environment, err = pairs("env", environment); err != nil {
				return err
			}
			if s.Headers, err = pairs("header", headers); err != nil {
				return err
			}
			if s.Risks, err = pairs("risk", risks); err != nil {
				return err
			}
			return a.WithBridge(cmd.Context(), func(b *bridge.Bridge) error {
				secrets := b.MoveSecrets(args[0], s.Environment, s.Headers)
				if err := b.Add(cmd.Context(), args[0], s, app.SystemUser(), replace); err != nil {
					return err
				}
				if err := a.moveSecrets(cmd.Context(), secrets); err != nil {
					return err
				}
				if offline {
					return a.say("the server %q was added", args[0])
				}
				if err := a.testServer(cmd.Context(), b, args[0]); err != nil {
					return fmt.Errorf("the server %q was added, but it does not work yet: %w\n"+
						"--replace adds it again, mcp-tools bridge remove %s removes it", args[0], err, args[0])
				}
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringArrayVar(&environment, "env", nil, "NAME=VALUE of a variable; credentials go to the vault, and secret:NAME is one of it")
	flags.StringArrayVar(&headers, "header", nil, "NAME=VALUE of a header; credentials go to the vault, and secret:NAME is one of it")
	flags.StringVar(&s.Transport, "transport", "", "transport of a URL: http or sse (default: http)")
	flags.StringVar(&s.Sandbox, "sandbox", "", "where a command runs: auto, kernel, docker or host (default: auto)")
	flags.StringArrayVar(&s.Read, "read", nil, "directory that a command sees")
	flags.StringArrayVar(&s.Write, "write", nil, "directory that a command may change")
	flags.StringArrayVar(&s.Hosts, "host", nil, "host:port with a private address that a command may reach")
	flags.DurationVar(&s.Timeout, "timeout", 0, "how long a call may take (default: 1m)")
	flags.StringVar(&s.Trust, "trust", "", "what is believed of the server: none, annotations or full (default: none)")
	flags.StringVar(&s.Access, "access", "", "who gets its tools: all or granted (default: all)")
	flags.StringSliceVar(&s.Tools, "tools", nil, "tools that callers get, as names or patterns (default: all)")
	flags.StringSliceVar(&s.Deny, "deny", nil, "tools that no caller gets")
	flags.StringArrayVar(&risks, "risk", nil, "TOOL=RISK of a tool: reads, writes, destroys or runs")
	flags.BoolVar(&s.Separate, "separate", false, "each caller has a connection of its own")
	flags.BoolVar(&s.Elicitation, "elicitation", false, "the server may ask the user questions")
	flags.StringVar(&s.Sampling, "sampling", "",
		"what the server may use of the model in a day, such as '20000 tokens'")
	flags.BoolVar(&s.Resources, "resources", false, "its resources and prompts are passed on")
	flags.BoolVar(&s.Disabled, "disabled", false, "callers do not get the tools")
	flags.BoolVar(&replace, "replace", false, "replace a server of the same name")
	flags.BoolVar(&offline, "offline", false, "do not connect to the server now")
	return cmd
}

// pairs reads flags of the form NAME=VALUE.
func pairs(flag string, list []string) (map[string]string, error) {
	var all map[string]string
	for _, one := range list {
		name, value, found := strings.Cut(one, "=")
		if !found || name == "" {
			return nil, app.Usagef("--%s is %q, it must be NAME=VALUE", flag, one)
		}
		if all == nil {
			all = make(map[string]string)
		}
		all[name] = value
	}
	return all, nil
}

// testServer connects to a server and shows what it offers.
func (a *CLI) testServer(ctx context.Context, b *bridge.Bridge, name string) error {
	l, err := b.Refresh(ctx, name)
	if err != nil {
		return err
	}
	all, err := b.Status(ctx, name)
	if err != nil {
		return err
	}
	return a.show(map[string]any{
		"server": name, "program": all[0].Program, "protocol": l.Protocol, "tools": all[0].Tools,
		"problems": l.Problems,
		"waiting":  len(l.Waiting),
	}, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %s, protocol %s, %s\n", name, orUnknown(all[0].Program), l.Protocol,
			text.Plural(len(l.Tools), "tool"))
		for _, why := range l.Problems {
			fmt.Fprintf(w, "left out: %s\n", why)
		}
		return a.printBridged(w, all[0])
	})
}

func orUnknown(text string) string { return cmp.Or(text, "unknown program") }

// printBridged prints the tools of a server, and what waits for an operator.
func (a *CLI) printBridged(w io.Writer, st bridge.Status) error {
	var rows [][]string
	for _, t := range st.Tools {
		rows = append(rows, []string{t.Name, t.Risk.String(), terminal.Short(t.About, 80)})
	}
	if len(rows) > 0 {
		if err := a.painter(w).Columns(w, append([][]string{{"TOOL", "RISK", "DESCRIPTION"}}, rows...)); err != nil {
			return err
		}
	}
	for _, why := range st.Left {
		fmt.Fprintf(w, "left out: %s\n", why)
	}
	if len(st.Held) > 0 {
		fmt.Fprintf(w, "\n%s of tools wait for you; mcp-tools bridge approve %s accepts them:\n",
			text.Plural(len(st.Held), "change"), st.Name)
		for _, c := range st.Held {
			fmt.Fprint(w, c.Diff())
		}
	}
	return nil
}

func (a *CLI) bridgeListCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the servers", Args: takes(),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, _ []string) error {
			all, err := b.Status(ctx)
			if err != nil {
				return err
			}
			return showList(a, all, "There are no servers; mcp-tools bridge add adds one.",
				[]string{"NAME", "STATE", "TOOLS", "HELD", "ACCESS", "WHERE"}, bridgeRow)
		}),
	}
}

func bridgeRow(st bridge.Status) []string {
	state := "ready"
	switch {
	case st.Server.Disabled:
		state = "disabled"
	case !st.Known:
		state = "not connected yet"
	}
	return []string{
		st.Name, state, fmt.Sprint(len(st.Tools)), fmt.Sprint(len(st.Held)),
		cmp.Or(st.Server.Access, bridge.AccessAll), terminal.Short(tool.Visible(st.Server.Where()), 60),
	}
}

func (a *CLI) bridgeShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show a server: its tools, what has changed, and who may use it", Args: takes("NAME"),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			all, err := b.Status(ctx, args[0])
			if err != nil {
				return err
			}
			st := all[0]
			return a.show(st, func(w io.Writer) error {
				fmt.Fprintf(w, "Where: %s\n", tool.Visible(st.Server.Where()))
				if !st.Known && !st.Server.Disabled {
					fmt.Fprintf(w, "Not connected yet; mcp-tools bridge test %s connects, or says why not\n", st.Name)
				}
				if st.Known {
					fmt.Fprintf(w, "Program: %s, protocol %s, listed %s\n", orUnknown(st.Program), st.Protocol,
						st.Listed.Local().Format(time.DateTime))
				}
				for _, g := range st.Grants {
					fmt.Fprintf(w, "Grant: %s\n", grantText(g))
				}
				return a.printBridged(w, st)
			})
		}),
	}
}

// grantText describes a grant in one line.
func grantText(g bridge.Grant) string {
	who := func(what, name string) string {
		if name == "" {
			return "all " + what + "s"
		}
		return what + " " + name
	}
	say := who("agent", g.Agent) + ", " + who("user", g.User)
	if g.Denied {
		return say + ": denied"
	}
	if g.Tools != nil {
		say += ": " + strings.Join(g.Tools, ", ")
	}
	if g.Deny != nil {
		say += ", without " + strings.Join(g.Deny, ", ")
	}
	return say
}

func (a *CLI) bridgeTestCommand() *cobra.Command {
	return &cobra.Command{
		Use: "test NAME", Short: "Connect to a server and read the list of its tools again", Args: takes("NAME"),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			return a.testServer(ctx, b, args[0])
		}),
	}
}

func (a *CLI) bridgeApproveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "approve NAME [TOOL...]", Short: "Accept tools of a server that have changed, or are new",
		Long: `approve accepts the tools of a server as it offers them now: those named, or all. See
mcp-tools bridge show NAME for what has changed.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return app.Usagef("bridge approve needs the name of a server")
			}
			return nil
		},
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			done, err := b.Approve(ctx, args[0], args[1:]...)
			if err != nil {
				return err
			}
			return a.say("%s accepted", text.Plural(len(done), "change"))
		}),
	}
}

func (a *CLI) bridgeGrantCommand() *cobra.Command {
	var g bridge.Grant
	var environment, headers []string
	cmd := &cobra.Command{
		Use: "grant NAME", Short: "Let an agent or a user have the tools of a server, or deny them",
		Long: `grant decides who gets the tools of a server. Without --for-agent it is for all agents, and
without --for-user for all users. A server with the access "granted" is open to those with
a grant; --denied takes a server from callers that would have it. Several grants narrow
each other.`,
		Example: `  mcp-tools bridge grant github --for-agent coder --tools 'get_*,list_*'
  mcp-tools bridge grant github --for-user ann --set-header 'Authorization=Bearer secret:github-ann'
  mcp-tools bridge grant files --for-agent guest --denied`,
		Args: takes("NAME"),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) (err error) {
			g.Server, g.By = args[0], app.SystemUser()
			if g.Overrides.Environment, err = pairs("set-env", environment); err != nil {
				return err
			}
			if g.Overrides.Headers, err = pairs("set-header", headers); err != nil {
				return err
			}
			secrets := b.MoveSecrets(strings.Join([]string{g.Server, g.Agent, g.User}, "-"), g.Overrides.Environment,
				g.Overrides.Headers)
			if err := b.Grant(ctx, g); err != nil {
				return err
			}
			if err := a.moveSecrets(ctx, secrets); err != nil {
				return err
			}
			return a.say("%s: %s", args[0], grantText(g))
		}),
	}
	flags := cmd.Flags()
	forCallers(cmd, &g.Agent, &g.User)
	flags.StringSliceVar(&g.Tools, "tools", nil,
		"tools that they get, as names or patterns of the server (default: all)")
	flags.StringSliceVar(&g.Deny, "deny", nil, "tools that they do not get")
	flags.BoolVar(&g.Denied, "denied", false, "they get no tools of the server")
	flags.StringArrayVar(&environment, "set-env", nil, "NAME=VALUE of a variable for their server")
	flags.StringArrayVar(&headers, "set-header", nil, "NAME=VALUE of a header for their requests")
	flags.DurationVar(&g.Overrides.Timeout, "timeout", 0, "how long their calls may take")
	return cmd
}

// forCallers adds the flags that name callers. --agent and --user are settings of the caller on stdio.
func forCallers(cmd *cobra.Command, agent, user *string) {
	cmd.Flags().StringVar(agent, "for-agent", "", "the agent (default: all)")
	cmd.Flags().StringVar(user, "for-user", "", "the user (default: all)")
}

func (a *CLI) bridgeRevokeCommand() *cobra.Command {
	var agent, user string
	cmd := &cobra.Command{
		Use: "revoke NAME", Short: "Remove a grant", Args: takes("NAME"),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			if err := b.Revoke(ctx, args[0], agent, user); err != nil {
				return err
			}
			return a.say("the grant was removed")
		}),
	}
	forCallers(cmd, &agent, &user)
	return cmd
}

func (a *CLI) bridgeRequestsCommand() *cobra.Command {
	var tools []string
	var note string
	decide := func(approve bool) func(*cobra.Command, []string) error {
		return a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			g, err := b.Review(ctx, args[0], approve, tools, app.SystemUser(), note)
			if err != nil {
				return err
			}
			if !approve {
				return a.say("the request was rejected")
			}
			return a.say("%s: %s", g.Server, grantText(g))
		})
	}
	approve := &cobra.Command{
		Use: "approve ID", Short: "Approve a request and grant the access", Args: takes("ID"), RunE: decide(true),
	}
	approve.Flags().StringSliceVar(&tools, "tools", nil, "tools to grant (default: those of the request)")
	reject := &cobra.Command{Use: "reject ID", Short: "Reject a request", Args: takes("ID"), RunE: decide(false)}
	for _, cmd := range []*cobra.Command{approve, reject} {
		cmd.Flags().StringVar(&note, "note", "", "a note to keep with the decision")
	}
	list := &cobra.Command{
		Use: "list", Short: "List the requests", Args: takes(),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, _ []string) error {
			all, err := b.Requests(ctx)
			if err != nil {
				return err
			}
			head := []string{"ID", "STATUS", "SERVER", "AGENT", "USER", "TOOLS", "REASON"}
			return showList(a, all, "There are no requests.", head, func(r bridge.Request) []string {
				return []string{r.ID, r.Status, r.Server, r.Agent, r.User, strings.Join(r.Tools, ","),
					terminal.Short(tool.Visible(r.Reason), 60)}
			})
		}),
	}
	return group(&cobra.Command{Use: "requests", Short: "Decide the requests of agents for access to servers"},
		list, approve, reject)
}

func (a *CLI) bridgeRemoveCommand() *cobra.Command {
	return &cobra.Command{
		Use: "remove NAME", Short: "Remove a server with its grants and its login", Args: takes("NAME"),
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			if err := b.Remove(ctx, args[0]); err != nil {
				return err
			}
			return a.say("the server %q was removed", args[0])
		}),
	}
}

func (a *CLI) bridgeImportCommand() *cobra.Command {
	var only []string
	var replace bool
	cmd := &cobra.Command{
		Use: "import CLIENT|FILE", Short: "Add the servers in the settings of a client, or in a .mcp.json file",
		Long: `import adds the servers that a client has: claude-desktop, claude-code, vscode, cursor, gemini,
windsurf, devin or zed, or those of a file. It does not change the file. Values that look
like secrets are moved to the vault. Programs run in the sandbox, and see no directory
of yours: add those that they need with bridge add --replace --write. No server is
connected to: mcp-tools bridge test NAME does that.`,
		Example: `  mcp-tools bridge import claude-desktop
  mcp-tools bridge import ./.mcp.json --only github,docs`,
		Args: takes("CLIENT or FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := args[0]
			if client, err := clients.Find(path); err == nil {
				env, err := clients.HostEnv()
				if err != nil {
					return err
				}
				path = client.Path(env)
			} else if !strings.ContainsAny(path, "./\\") {
				return app.Usagef("%w; or name a file", err)
			}
			servers, err := clients.Servers(path)
			if err != nil {
				return err
			}
			return a.importServers(cmd.Context(), bridge.Imports(servers), only, replace)
		},
	}
	cmd.Flags().StringSliceVar(&only, "only", nil, "names of the servers to import (default: all)")
	cmd.Flags().BoolVar(&replace, "replace", false, "replace servers of the same name")
	return cmd
}

func (a *CLI) importServers(ctx context.Context, all []bridge.Import, only []string, replace bool) error {
	type line struct {
		Name   string   `json:"name"`
		Result string   `json:"result"`
		Notes  []string `json:"notes,omitempty"`
	}
	lines := []line{}
	err := a.WithBridge(ctx, func(b *bridge.Bridge) error {
		for _, one := range all {
			if len(only) > 0 && !slices.Contains(only, one.Name) {
				continue
			}
			result := "added"
			switch {
			case one.Skip != "":
				result = "left out: " + one.Skip
			default:
				err := b.Add(ctx, one.Name, one.Server, app.SystemUser(), replace)
				if err == nil { // not before: the secrets of a server that is there already stay
					err = a.keepSecrets(ctx, one.Secrets)
				}
				if known := (*tool.Error)(nil); errors.As(err, &known) {
					result = "left out: " + known.What
				} else if err != nil {
					return err
				}
			}
			lines = append(lines, line{one.Name, result, one.Notes})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.show(lines, func(w io.Writer) error {
		for _, l := range lines {
			fmt.Fprintf(w, "%s: %s\n", l.Name, l.Result)
			for _, note := range l.Notes {
				fmt.Fprintf(w, "  note: %s\n", tool.Visible(note))
			}
		}
		if len(lines) == 0 {
			fmt.Fprintln(w, "There are no servers to import.")
		}
		return nil
	})
}

// moveSecrets puts values that were written out into the vault, and says so.
func (a *CLI) moveSecrets(ctx context.Context, values map[string]string) error {
	if err := a.keepSecrets(ctx, values); err != nil {
		return fmt.Errorf("the server is there, but its secrets could not be put into the vault; set them with "+
			"mcp-tools secrets set: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(a.Err, "a credential was put into the vault as %s\n", name)
	}
	return nil
}

// keepSecrets puts values into the vault.
func (a *CLI) keepSecrets(ctx context.Context, values map[string]string) error {
	if len(values) == 0 {
		return nil
	}
	return a.WithVault(func(v *vault.Vault) error {
		for name, value := range values {
			if _, _, err := v.Set(ctx, name, []byte(value)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (a *CLI) bridgeLoginCommand() *cobra.Command {
	return &cobra.Command{
		Use: "login NAME", Short: "Log in to a server with OAuth", Args: takes("NAME"),
		Long: `login prints an address to open in a browser, and waits until you have agreed there. The
browser comes back to a port of this machine. The tokens are kept in the vault, and are
renewed until the server takes them back.`,
		RunE: a.onBridge(func(ctx context.Context, b *bridge.Bridge, args []string) error {
			err := b.Login(ctx, args[0], func(address string) {
				fmt.Fprintf(a.Err, "Open this address in a browser of this machine, and agree there:\n\n  %s\n\n",
					address)
			})
			if err != nil {
				return err
			}
			if err := a.say("logged in"); err != nil {
				return err
			}
			return a.testServer(ctx, b, args[0])
		}),
	}
}

package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/policy"
)

func (a *CLI) tokenCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "token",
		Short: "Create, list and revoke tokens for HTTP clients",
		Long: `token manages who may connect over HTTP. Servers with the same store apply changes
at once. Only hashes are stored: a token is shown once, when it is created.`,
	}, a.tokenCreateCommand(), a.tokenListCommand(), a.tokenRevokeCommand())
}

func (a *CLI) tokenCreateCommand() *cobra.Command {
	var req tokens.Token
	var expires string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a token, and show it once",
		Long: `create creates a token and prints it to stdout, for scripts; messages go to stderr.
The token may use the profiles given: the first by default, others if the client asks
for them. * stands for all profiles.`,
		Example: `  mcp-tools token create --name laptop --profile coding
  mcp-tools token create --name ci --profile readonly --expires 30d
  mcp-tools token create --name console --approve
  mcp-tools token create --name ann --profile '*' --agent ann --user ann@example.com --workspace ~/src`,
		Args: takes(),
		RunE: on(a.WithTokens, func(ctx context.Context, table *tokens.Table, _ []string) error {
			if err := a.fillRequest(&req, expires, time.Now()); err != nil {
				return err
			}
			secret, row, err := table.Create(ctx, req)
			if err != nil {
				return err
			}
			return a.printNewToken(secret.Reveal(), row)
		}),
	}
	flags := cmd.Flags()
	flags.StringVar(&req.Name, "name", "", "name in lists and logs")
	flags.StringArrayVar(&req.Profiles, "profile", nil,
		"profile that the token may use; can be repeated, * for all (default: that of the settings)")
	flags.BoolVar(&req.Approve, "approve", false,
		"the token approves calls, and cannot make calls; --agent and --user limit the calls")
	flags.StringVar(&req.Agent, "agent", "", "agent that makes the calls")
	flags.StringVar(&req.User, "user", "", "user on whose behalf the calls are made")
	flags.StringVar(&req.Workspace, "workspace", "", "working directory (default: that of the server)")
	flags.StringVar(&req.Provider, "provider", "", "provider of the model that makes the calls")
	flags.StringVar(&req.Chat, "chat", "", "chat that the calls come from; without it each request may name one")
	flags.StringVar(&req.PeerKind, "peer-kind", "", "kind of the chat: direct or group")
	flags.StringVar(&req.Topic, "topic", "", "topic or thread within the chat")
	flags.BoolVar(&req.Structured, "structured", false, "results also have structured content, for programs")
	flags.StringVar(&expires, "expires", "",
		"when the token expires: a date, a time, or a duration such as 30d (default: never)")
	offer(cmd, "profile", a.completeProfiles)
	return cmd
}

// fillRequest completes and checks a request with the settings.
func (a *CLI) fillRequest(req *tokens.Token, expires string, now time.Time) error {
	v, err := a.Examine()
	if err != nil {
		return err
	}
	if req.Approve && (req.Profiles != nil || req.Workspace != "" || req.Place != (tokens.Place{}) || req.Structured) {
		return app.Usagef("a token with --approve makes no calls; it takes only --name, --agent, --user and --expires")
	}
	if req.Profiles == nil && !req.Approve {
		usual, err := v.Policy.ResolveProfile("")
		if err != nil {
			return err
		}
		req.Profiles = []string{usual}
	}
	for _, name := range req.Profiles {
		if name == policy.AnyProfile {
			continue
		}
		if name == "" {
			return app.Usagef("--profile is empty; give a name, or omit the flag")
		}
		if _, err := v.Policy.ResolveProfile(name); err != nil {
			return app.UsageError{Err: err}
		}
	}
	if req.Workspace != "" {
		if req.Workspace, err = app.WorkspaceDir(req.Workspace); err != nil {
			return err
		}
	}
	if expires != "" {
		req.Expires, err = moment("expires", expires, now.Add)
	}
	return err
}

// A newToken is a created token, as JSON.
type newToken struct {
	Plain string `json:"token"`
	tokens.Token
}

func (a *CLI) printNewToken(plain string, row tokens.Token) error {
	return a.show(newToken{plain, row}, func(w io.Writer) error {
		if _, err := fmt.Fprintln(w, plain); err != nil {
			return err
		}
		end := "never expires"
		if !row.Expires.IsZero() {
			end = "expires " + row.Expires.Local().Format(time.DateTime)
		}
		if row.Approve {
			_, err := fmt.Fprintf(a.Err, "Token %s (%s) approves calls at /approvals; it %s. It is not shown again.\n",
				row.ID, row.Name, end)
			return err
		}
		_, err := fmt.Fprintf(a.Err, `Token %s (%s), profile %s; it %s. It is not shown again.
Set it in the environment of the client, and connect the client:
  export %[5]s=...
  mcp-tools connect CLIENT --url %[6]s --token-env %[5]s
`, row.ID, row.Name, strings.Join(row.Profiles, ", "), end, config.EnvToken, a.publicURL())
		if err == nil && row.User == "" {
			_, err = fmt.Fprintln(a.Err,
				"It has no user: tokens without a user share their memories; --user gives it separate ones.")
		}
		return err
	})
}

// publicURL returns the URL of the server, as far as the settings know it.
func (a *CLI) publicURL() string {
	if l, err := a.Load(); err == nil && l.Config.Server.PublicURL != "" {
		return l.Config.Server.PublicURL
	}
	return "http://HOST:PORT/mcp"
}

// A tokenRow is a token with its state, as JSON.
type tokenRow struct {
	tokens.Token
	State string `json:"state"`
}

func (a *CLI) tokenListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List all tokens, including revoked and expired ones",
		Long: `list prints the tokens created with token create or at the first start, but not
those in the settings file (connections.tokens).`,
		Example: `  mcp-tools token list
  mcp-tools token list --output json`,
		Args: takes(),
		RunE: on(a.WithTokens, a.listTokens),
	}
}

func (a *CLI) listTokens(ctx context.Context, table *tokens.Table, _ []string) error {
	rows, err := table.List(ctx)
	if err != nil {
		return err
	}
	list := make([]tokenRow, 0, len(rows))
	for _, row := range rows {
		list = append(list, tokenRow{row, row.State(time.Now())})
	}
	const none = "There are no tokens; mcp-tools token create makes one."
	head := []string{"ID", "STATE", "NAME", "PROFILES", "AGENT", "USER", "FROM", "EXPIRES", "LAST USED"}
	return showList(a, list, none, head, func(t tokenRow) []string {
		return []string{
			t.ID, t.State, t.Name, mayDo(t.Token), dash(t.Agent), dash(t.User), dash(from(t.Place)),
			terminal.Date(t.Expires), terminal.Date(t.LastUsed),
		}
	})
}

// mayDo returns what a token may be used for.
func mayDo(row tokens.Token) string {
	if row.Approve {
		return "(approvals)"
	}
	return strings.Join(row.Profiles, ",")
}

// from returns the place that a token names, as in "acme group team/topic".
func from(p tokens.Place) string {
	chat := p.Chat
	if p.Topic != "" {
		chat += "/" + p.Topic
	}
	return strings.Join(slices.DeleteFunc([]string{p.Provider, p.PeerKind, chat},
		func(s string) bool { return s == "" }), " ")
}

func dash(text string) string { return cmp.Or(text, "-") }

func (a *CLI) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "revoke ID|NAME",
		Short: "Revoke a token",
		Long: `revoke revokes a token. Running servers refuse it from the next request on. It stays
in the list. A name can be used if only one token has it.`,
		Example: `  mcp-tools token revoke 3FxPq0aZ
  mcp-tools token revoke laptop`,
		Args:              takes("the ID or NAME of a token"),
		ValidArgsFunction: completeFirst(a.activeTokens),
		RunE: on(a.WithTokens, func(ctx context.Context, table *tokens.Table, args []string) error {
			if err := table.Revoke(ctx, args[0]); err != nil {
				return err
			}
			return a.printRevoked(ctx, table, args[0])
		}),
	}
}

// printRevoked prints the token that was revoked: the latest one, if several have
// the name.
func (a *CLI) printRevoked(ctx context.Context, table *tokens.Table, idOrName string) error {
	rows, err := table.List(ctx)
	if err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r tokens.Token) bool {
		return r.Revoked.IsZero() || r.ID != idOrName && r.Name != idOrName
	})
	if len(rows) == 0 {
		return fmt.Errorf("%q was revoked, and has been deleted since", idOrName)
	}
	row := slices.MaxFunc(rows, func(x, y tokens.Token) int { return x.Revoked.Compare(y.Revoked) })
	return a.report(tokenRow{row, row.State(time.Now())}, "Token %s (%s) was revoked.", row.ID, row.Name)
}

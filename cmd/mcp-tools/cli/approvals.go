package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
)

// withApprovals passes the store of approvals to use.
func (a *CLI) withApprovals(use func(*approvals.Store) error) error {
	return a.WithStore(func(s *store.Store) error { return use(approvals.New(approvals.Options{DB: s})) })
}

// approver is the user of the command line, who may decide about all calls.
func approver() approvals.Approver { return approvals.Approver{Name: app.SystemUser(), Channel: "cli"} }

// mistake returns a usage error for a rule that cannot be made.
func mistake(err error) error {
	if wrong := (approvals.RuleError{}); errors.As(err, &wrong) {
		return app.UsageError{Err: wrong}
	}
	return err
}

func (a *CLI) approvalsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "approvals",
		Short: "Decide about calls that need an approval",
		Long: `approvals lists calls that wait for an approval, on all servers with the same
store, and approves or denies them. If the client can ask a person too, the first
decision counts. Calls that are not decided in time (approvals.timeout) are
refused.`,
	}, a.approvalsListCommand(), a.approvalsShowCommand(), a.approvalsAllowCommand(), a.approvalsDenyCommand(),
		a.approvalsWatchCommand(), a.approvalsRulesCommand(), a.approvalsForgetCommand())
}

func (a *CLI) approvalsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the calls that wait for an approval",
		Example: "  mcp-tools approvals list\n  mcp-tools approvals list --output json",
		Args:    takes(),
		RunE:    on(a.withApprovals, a.listApprovals),
	}
}

// noStore reports whether there is no store yet.
func (a *CLI) noStore() (bool, error) {
	o, err := a.LoadStoreOptions()
	return err == nil && store.Missing(o.DSN), err
}

func (a *CLI) listApprovals(ctx context.Context, questions *approvals.Store, _ []string) error {
	open, err := questions.List(ctx, approver())
	if err != nil {
		return err
	}
	if missing, err := a.noStore(); err != nil || !missing { // looking creates no store
		if err := errors.Join(err, questions.MarkAttended(ctx)); err != nil {
			return err
		}
	}
	place, err := a.StorePlace()
	if err != nil {
		return err
	}
	none := fmt.Sprintf("No call waits for an approval on servers with the store %s.\n"+
		"Calls of clients that cannot ask a person only wait while an operator watches: 30 seconds after this\n"+
		"command, or while mcp-tools approvals watch runs (unless the setting approvals.wait differs).", place)
	head := []string{"ID", "TOOL", "RISK", "CALLER", "PROFILE", "LEFT", "ARGUMENTS"}
	return showList(a, open, none, head, func(q approvals.Question) []string {
		left := time.Until(q.Expires).Round(time.Second).String()
		return []string{q.ID, q.Tool, q.Risk, callerOf(q.Principal), q.Profile, left, terminal.Short(q.Shown, 60)}
	})
}

func (a *CLI) approvalsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "show ID",
		Short:   "Show the details of a call",
		Example: "  mcp-tools approvals show abcd2345efgh",
		Args:    takes("the ID of a call"),

		ValidArgsFunction: completeFirst(a.waitingCalls),
		RunE: on(a.withApprovals, func(ctx context.Context, store *approvals.Store, args []string) error {
			q, err := store.Get(ctx, args[0], approver())
			if err := errors.Join(err, store.MarkAttended(ctx)); err != nil {
				return err
			}
			return a.show(q, func(w io.Writer) error {
				_, err := io.WriteString(w, questionSheet(q)+questionDetails(q))
				return err
			})
		}),
	}
}

// grantFlags are the flags for the scope of an approval.
type grantFlags struct {
	session, always, yes bool
	expires              string
	match, any           []string
}

func (a *CLI) approvalsAllowCommand() *cobra.Command {
	var g grantFlags
	cmd := &cobra.Command{
		Use:   "allow ID [--session | --always]",
		Short: "Approve a call",
		Long: `allow approves one call. With --session, equal calls need no approval until the
session or its server ends; with --always, until the rule expires. Equal calls are
calls of the same caller with exactly the same arguments. --match and --any
include more calls: --match path='src/*' for arguments that match a pattern (*
matches within a directory, ** across directories), --any content for an argument
with any value.

Before a rule is made, it is shown with the number of such calls in the past, and
you are asked to confirm it; --yes confirms it, and is required if there is no
terminal.`,
		Example: `  mcp-tools approvals allow abcd2345efgh
  mcp-tools approvals allow abcd2345efgh --session --yes
  mcp-tools approvals allow abcd2345efgh --always --expires 30d --match path='src/**' --any content`,
		Args: takes("the ID of a call"),
		RunE: on(a.withApprovals, func(ctx context.Context, store *approvals.Store, args []string) error {
			answer, err := g.answer(time.Now())
			if err != nil {
				return err
			}
			if answer.Scope != approvals.Once {
				if ok, err := a.confirmRule(ctx, store, args[0], answer, g.yes); err != nil || !ok {
					return err
				}
			}
			return a.decide(ctx, store, args[0], answer)
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&g.session, "session", false, "approve equal calls for the rest of the session")
	flags.BoolVar(&g.always, "always", false, "approve equal calls from now on")
	flags.StringVar(&g.expires, "expires", "",
		"when the rule of --always expires: a date, a time, or a duration such as 30d (default 30d, max 1 year)")
	flags.StringArrayVar(&g.match, "match", nil,
		"NAME=PATTERN: an argument that must match a pattern instead of being equal")
	flags.StringArrayVar(&g.any, "any", nil, "NAME of an argument that may have any value")
	flags.BoolVar(&g.yes, "yes", false, "make the rule without asking for confirmation")
	cmd.ValidArgsFunction = completeFirst(a.waitingCalls)
	return cmd
}

func (g grantFlags) answer(now time.Time) (a approvals.Answer, err error) {
	a = approvals.Answer{Allow: true, Scope: approvals.Once, Like: approvals.Like{Any: g.any}}
	switch {
	case g.session && g.always:
		return a, app.Usagef("--session and --always exclude each other")
	case g.session:
		a.Scope = approvals.Session
	case g.always:
		a.Scope = approvals.Always
	case g.expires != "" || g.match != nil || g.any != nil:
		return a, app.Usagef("--expires, --match and --any describe a rule; add --session or --always")
	}
	if g.expires != "" {
		if !g.always {
			return a, app.Usagef("--expires needs --always; with --session a rule ends with the session")
		}
		if a.Until, err = moment("expires", g.expires, now.Add); err != nil {
			return a, err
		}
	}
	for _, pair := range g.match {
		name, pattern, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return a, app.Usagef("--match is %q, it must be NAME=PATTERN", pair)
		}
		if a.Like.Match == nil {
			a.Like.Match = make(map[string]string)
		}
		a.Like.Match[name] = pattern
	}
	return a, nil
}

// confirmRule shows the rule that an answer would make, and asks to confirm it.
func (a *CLI) confirmRule(
	ctx context.Context, store *approvals.Store, id string, answer approvals.Answer, yes bool,
) (bool, error) {
	rule, err := store.Preview(ctx, id, answer, approver())
	if err != nil {
		return false, mistake(err)
	}
	q, err := store.Get(ctx, id, approver())
	if err != nil {
		return false, err
	}
	fmt.Fprint(a.Err, ruleSheet(rule)+a.pastText(ctx, q.Call, rule))
	if yes {
		return true, nil
	}
	if !terminal.IsTerminal(a.In) {
		return false, app.Usagef("nothing was decided; check the rule, and add --yes to make it")
	}
	fmt.Fprint(a.Err, "\nMake this rule? [y/N] ")
	line, err := person{in: bufio.NewReader(a.In), out: a.Err}.line(ctx)
	if err != nil {
		return false, err
	}
	if !isYes(line) {
		fmt.Fprintln(a.Err, "Nothing was decided.")
		return false, nil
	}
	return true, nil
}

func isYes(line string) bool {
	word := strings.ToLower(strings.TrimSpace(line))
	return word == "y" || word == "yes"
}

// pastText returns how often such calls were made.
func (a *CLI) pastText(ctx context.Context, c approvals.Call, rule approvals.Rule) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	var n app.PastCalls
	err := a.WithAuditLog(ctx, func(record *audit.DB) (err error) {
		if record != nil {
			n, err = app.CountPast(ctx, record, c)
		}
		return err
	})
	least := ""
	if err != nil {
		least = "at least "
	}
	if rule.Digest != "" {
		return fmt.Sprintf("Past calls: %s%d with exactly these arguments\n", least, n.Equal)
	}
	return fmt.Sprintf("Past calls: %s%d with exactly these arguments, %d of the tool; how many match is unknown\n",
		least, n.Equal, n.OfTool)
}

// decide records the answer and prints the result.
func (a *CLI) decide(ctx context.Context, store *approvals.Store, id string, answer approvals.Answer) error {
	d, err := store.Answer(ctx, id, answer, approver())
	if err := errors.Join(err, store.MarkAttended(ctx)); err != nil {
		return mistake(err)
	}
	text := "denied"
	if d.Allow {
		text = "allowed"
	}
	if d.Rule != "" {
		text += ", and equal calls too; mcp-tools approvals forget " + d.Rule + " removes the rule"
	}
	return a.report(struct {
		ID       string             `json:"id"`
		Decision approvals.Decision `json:"decision"`
	}{id, d}, "%s: %s.", id, text)
}

func (a *CLI) approvalsDenyCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Deny a call",
		Long: `deny refuses a call. The agent gets the reason. A call that was approved but has
not started yet is refused too.`,
		Example: "  mcp-tools approvals deny abcd2345efgh --reason 'use the staging database'",
		Args:    takes("the ID of a call"),
		RunE: on(a.withApprovals, func(ctx context.Context, store *approvals.Store, args []string) error {
			return a.decide(ctx, store, args[0], approvals.Answer{Reason: reason})
		}),
	}
	cmd.Flags().StringVar(&reason, "reason", "", "reason, or what to do instead, for the agent")
	cmd.ValidArgsFunction = completeFirst(a.waitingCalls)
	return cmd
}

// waitingCalls lists the IDs of calls that wait for an approval.
func (a *CLI) waitingCalls(ctx context.Context) (ids []string, err error) {
	err = a.withApprovals(func(store *approvals.Store) error {
		open, err := store.List(ctx, approver())
		for _, q := range open {
			ids = append(ids, cobra.CompletionWithDesc(q.ID, q.Tool+" "+terminal.Short(terminal.OneLine(q.Shown), 60)))
		}
		return err
	})
	return ids, err
}

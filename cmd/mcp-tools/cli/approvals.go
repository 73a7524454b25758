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
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"
	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

// withApprovals opens the approvals for one use on the command line.
func (a *CLI) withApprovals(use func(*approvals.Store, approvals.Approver) error) error {
	return a.WithStore(func(s *store.Store, unused func() bool) error {
		return use(approvals.New(approvals.Options{DB: s, Unused: unused}), approvals.Approver{Name: app.SystemUser(), Channel: "cli"})
	})
}

// mistake makes what a person said wrongly a mistake in the command line.
func mistake(err error) error {
	if wrong := (approvals.RuleError{}); errors.As(err, &wrong) {
		return app.UsageError{Err: wrong}
	}
	return err
}

func (a *CLI) approvalsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "approvals",
		Short: "Decide about calls that wait for a person",
		Long: `approvals shows the calls that wait for a person's word, of all servers with the
same store, and takes that word. Where a client can ask too, the first
answer counts. Whoever has not been answered in time (approvals.timeout) is
refused.`,
	}, a.approvalsListCommand(), a.approvalsShowCommand(), a.approvalsAllowCommand(), a.approvalsDenyCommand(),
		a.approvalsWatchCommand(), a.approvalsRulesCommand(), a.approvalsForgetCommand())
}

func (a *CLI) approvalsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the calls that wait",
		Example: "  mcp-tools approvals list\n  mcp-tools approvals list --output json",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withApprovals(func(store *approvals.Store, who approvals.Approver) error {
				open, err := store.List(cmd.Context(), who)
				if err := errors.Join(err, store.MarkAttended(cmd.Context())); err != nil {
					return err
				}
				return a.show(append([]approvals.Question{}, open...), func(w io.Writer) error { return a.printQuestions(w, open) })
			})
		},
	}
}

func (a *CLI) printQuestions(w io.Writer, open []approvals.Question) error {
	if len(open) == 0 {
		place, err := a.StorePlace()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(w, "No call waits for approval, of servers with the store %s.\n"+
			"Calls of clients that cannot ask you wait only while somebody looks: for 30 seconds from now, or as long as mcp-tools approvals watch runs\n"+
			"(approvals.wait can say otherwise).\n", place)
		return err
	}
	rows := [][]string{{"ID", "TOOL", "RISK", "CALLER", "PROFILE", "LEFT", "ARGUMENTS"}}
	for _, q := range open {
		rows = append(rows, []string{q.ID, q.Tool, q.Risk, q.Principal, q.Profile, left(q), short(q.Shown, 60)})
	}
	return a.painter(w).Columns(w, rows)
}

// left is how much time there is to answer.
func left(q approvals.Question) string { return time.Until(q.Expires).Round(time.Second).String() }

// short is the beginning of a text, for a table.
func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

func (a *CLI) approvalsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show all of one call",
		Example: "  mcp-tools approvals show abcd2345efgh",
		Args:    takes("the ID of a call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withApprovals(func(store *approvals.Store, who approvals.Approver) error {
				q, err := store.Get(cmd.Context(), args[0], who)
				if err := errors.Join(err, store.MarkAttended(cmd.Context())); err != nil {
					return err
				}
				return a.show(q, func(w io.Writer) error {
					_, err := io.WriteString(w, questionSheet(q))
					return err
				})
			})
		},
	}
	cmd.ValidArgsFunction = a.completeQuestions
	return cmd
}

// grantFlags say how far a yes reaches.
type grantFlags struct {
	session, always, yes bool
	expires              string
	match, any           []string
}

func (a *CLI) approvalsAllowCommand() *cobra.Command {
	var g grantFlags
	cmd := &cobra.Command{
		Use:   "allow ID [--session | --always]",
		Short: "Let a call run",
		Long: `allow lets the call run, once. With --session calls like it need no other word
while the session and its server last, with --always until the rule expires.
Like it are calls of the same caller with exactly the same arguments. --match
and --any widen that: --match path='src/*' for a text that fits a pattern (* is
anything within a directory, ** anything), --any content for an argument that
may be anything.

The rule is shown before it is made, with how often such calls were made so far,
and you are asked; --yes answers that, and must be given where there is no
terminal.`,
		Example: `  mcp-tools approvals allow abcd2345efgh
  mcp-tools approvals allow abcd2345efgh --session --yes
  mcp-tools approvals allow abcd2345efgh --always --expires 30d --match path='src/**' --any content`,
		Args: takes("the ID of a call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			answer, err := g.answer(time.Now())
			if err != nil {
				return err
			}
			return a.withApprovals(func(store *approvals.Store, who approvals.Approver) error {
				if answer.Scope != approvals.Once {
					if ok, err := a.confirmRule(cmd.Context(), store, args[0], answer, who, g.yes); err != nil || !ok {
						return err
					}
				}
				return a.decide(cmd.Context(), store, args[0], answer, who)
			})
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&g.session, "session", false, "allow calls like it for the rest of the session")
	flags.BoolVar(&g.always, "always", false, "allow calls like it from now on")
	flags.StringVar(&g.expires, "expires", "", "when the rule of --always ends: a date, a moment, or 30d from now (default 30d, at most a year)")
	flags.StringArrayVar(&g.match, "match", nil, "NAME=PATTERN: an argument that must fit a pattern instead of being the same")
	flags.StringArrayVar(&g.any, "any", nil, "NAME of an argument that may be anything")
	flags.BoolVar(&g.yes, "yes", false, "make the rule without asking")
	cmd.ValidArgsFunction = a.completeQuestions
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
		return a, app.Usagef("--expires, --match and --any say what a rule allows; add --session or --always")
	}
	if g.expires != "" {
		if !g.always {
			return a, app.Usagef("--expires is for --always; what is allowed for a session ends with it")
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

// confirmRule shows the rule that an answer would make, and asks whether it is
// meant.
func (a *CLI) confirmRule(ctx context.Context, store *approvals.Store, id string, answer approvals.Answer, who approvals.Approver, yes bool) (bool, error) {
	rule, err := store.Preview(ctx, id, answer, who)
	if err != nil {
		return false, mistake(err)
	}
	q, err := store.Get(ctx, id, who)
	if err != nil {
		return false, err
	}
	fmt.Fprint(a.Err, ruleSheet(rule)+a.pastText(ctx, q.Call, rule))
	if yes {
		return true, nil
	}
	if !terminal.IsTerminal(a.In) {
		return false, app.Usagef("nothing was decided; look at the rule, and add --yes to make it")
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

// pastText says how often such calls were made.
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
	return fmt.Sprintf("Past calls: %s%d with exactly these arguments, %d of the tool in all; how many of those fit is not known\n",
		least, n.Equal, n.OfTool)
}

// decide gives the answer and says what became of it.
func (a *CLI) decide(ctx context.Context, store *approvals.Store, id string, answer approvals.Answer, who approvals.Approver) error {
	d, err := store.Answer(ctx, id, answer, who)
	if err := errors.Join(err, store.MarkAttended(ctx)); err != nil {
		return mistake(err)
	}
	return a.show(struct {
		ID       string             `json:"id"`
		Decision approvals.Decision `json:"decision"`
	}{id, d}, func(w io.Writer) error {
		text := "denied"
		if d.Allow {
			text = "allowed"
		}
		if d.Rule != "" {
			text += ", and so are calls like it; mcp-tools approvals forget " + d.Rule + " ends that"
		}
		_, err := fmt.Fprintf(w, "%s: %s.\n", id, text)
		return err
	})
}

func (a *CLI) approvalsDenyCommand() *cobra.Command {
	var reason string
	cmd := &cobra.Command{
		Use:   "deny ID",
		Short: "Refuse a call",
		Long: `deny refuses the call. The agent reads the reason. A call that was allowed and
has not run yet is refused too.`,
		Example: "  mcp-tools approvals deny abcd2345efgh --reason 'use the staging database'",
		Args:    takes("the ID of a call"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withApprovals(func(store *approvals.Store, who approvals.Approver) error {
				return a.decide(cmd.Context(), store, args[0], approvals.Answer{Reason: reason}, who)
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why, or what to do instead; for the agent to read")
	cmd.ValidArgsFunction = a.completeQuestions
	return cmd
}

// completeQuestions offers the ids of the calls that wait.
func (a *CLI) completeQuestions(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var ids []string
	err := a.withApprovals(func(store *approvals.Store, who approvals.Approver) error {
		open, err := store.List(cmd.Context(), who)
		for _, q := range open {
			ids = append(ids, cobra.CompletionWithDesc(q.ID, q.Tool+" "+short(terminal.OneLine(q.Shown), 60)))
		}
		return err
	})
	if err != nil || len(args) > 0 {
		return choices(nil)
	}
	return choices(ids)
}

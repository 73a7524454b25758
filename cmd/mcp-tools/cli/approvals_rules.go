package cli

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/terminal"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func (a *CLI) approvalsRulesCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "rules",
		Short:   "List what was allowed for a session, or always",
		Example: "  mcp-tools approvals rules\n  mcp-tools approvals rules --output json",
		Args:    takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withApprovals(func(store *approvals.Store, _ approvals.Approver) error {
				rules, err := store.Rules(cmd.Context())
				if err != nil {
					return err
				}
				return a.show(append([]approvals.Rule{}, rules...), func(w io.Writer) error { return a.printRules(w, rules) })
			})
		},
	}
}

func (a *CLI) printRules(w io.Writer, rules []approvals.Rule) error {
	if len(rules) == 0 {
		_, err := fmt.Fprintln(w, "There are no rules; mcp-tools approvals allow ID --always makes one.")
		return err
	}
	rows := [][]string{{"RULE", "SCOPE", "TOOL", "CALLER", "PROFILE", "EXPIRES", "BY", "ALLOWS"}}
	for _, r := range rules {
		rows = append(rows, []string{
			r.ID, string(r.Scope), r.Tool, r.Principal, r.Profile, terminal.Date(r.Expires), dash(r.By), short(likeText(r), 80),
		})
	}
	return a.painter(w).Columns(w, rows)
}

func (a *CLI) approvalsForgetCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "forget RULE",
		Short:   "End what was allowed for a session, or always",
		Example: "  mcp-tools approvals forget abcd2345efgh",
		Args:    takes("the id of a RULE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withApprovals(func(store *approvals.Store, _ approvals.Approver) error {
				rule, err := store.Forget(cmd.Context(), args[0])
				if errors.Is(err, approvals.ErrUnknown) {
					return fmt.Errorf("there is no rule %q; mcp-tools approvals rules lists them", args[0])
				}
				if err != nil {
					return err
				}
				return a.show(rule, func(w io.Writer) error {
					_, err := fmt.Fprintf(w, "Rule %s is gone; calls of %s are asked about again.\n", rule.ID, rule.Tool)
					return err
				})
			})
		},
	}
}

// questionSheet is a call as a person reads it before a decision: all of it.
func questionSheet(q approvals.Question) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, %s\n\n", q.ID, q.State, q.Expires.Local().Format("until "+time.DateTime))
	fmt.Fprintf(&b, "Tool:      %s (%s), it %s\n", terminal.OneLine(q.Title), terminal.OneLine(q.Tool), q.Risk)
	if q.Why != "" {
		fmt.Fprintf(&b, "Reason:    %s\n", terminal.OneLine(q.Why))
	}
	fmt.Fprintf(&b, "Caller:    %s\nSession:   %s\nProfile:   %s\nWorkspace: %s\nDigest:    %s\n",
		terminal.OneLine(q.Principal), terminal.OneLine(q.Session), terminal.OneLine(q.Profile), terminal.OneLine(q.Workspace), q.Digest)
	for _, name := range slices.Sorted(maps.Keys(q.Facts)) {
		fmt.Fprintf(&b, "%s: %s\n", terminal.OneLine(name), terminal.OneLine(q.Facts[name]))
	}
	fmt.Fprintf(&b, "Arguments: %s\n", folded(tool.Visible(q.Shown)))
	if q.Once {
		b.WriteString("Calls like this one can only be allowed once.\n")
	}
	if d := q.Decision; d != nil {
		word := "denied"
		if d.Allow {
			word = "allowed " + string(d.Scope)
		}
		fmt.Fprintf(&b, "Decision:  %s by %s (%s)\n", word, dash(terminal.OneLine(d.By)), terminal.OneLine(d.Channel))
	}
	return b.String()
}

// sheetWidth is how many cells of a line long texts take: fewer than terminals
// have, or their lines would break where whoever wrote the text wants them to.
const sheetWidth = 72

// folded is text in lines of its own, each marked, so that none passes for one
// of the sheet. What fits beside its name stays there.
func folded(text string) string {
	lines := foldLines(text)
	if len(lines) == 1 && utf8.RuneCountInString(text) <= sheetWidth-len("Arguments: ") {
		return text
	}
	return "\n  | " + strings.Join(lines, "\n  | ")
}

func foldLines(text string) []string {
	var lines []string
	var line strings.Builder
	cells := 0
	for _, r := range text {
		width := 1
		if r >= 0x1100 { // from here on characters may take two cells
			width = 2
		}
		if r == '\n' || cells+width > sheetWidth {
			lines = append(lines, line.String())
			line.Reset()
			cells = 0
		}
		if r == '\n' {
			continue
		}
		if r == '\t' {
			r = ' '
		}
		line.WriteRune(r)
		cells += width
	}
	return append(lines, line.String())
}

// ruleSheet is a rule as a person reads it before it is made.
func ruleSheet(r approvals.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allows:     %s, as long as it %s at most\nArguments:  %s\n", terminal.OneLine(r.Tool), r.Risk, folded(tool.Visible(likeText(r))))
	fmt.Fprintf(&b, "Caller:     %s\nProfile:    %s\nWorkspace:  %s\n", terminal.OneLine(r.Principal), terminal.OneLine(r.Profile), terminal.OneLine(r.Workspace))
	if r.Scope == approvals.Session {
		fmt.Fprintf(&b, "Session:    %s, and only while its server runs\n", terminal.OneLine(r.Session))
	}
	if r.Basis != "" {
		b.WriteString("Facts:      the same as now\n")
	}
	fmt.Fprintf(&b, "Expires:    %s\n", r.Expires.Local().Format(time.DateTime))
	return b.String()
}

// likeText says which arguments a rule allows.
func likeText(r approvals.Rule) string {
	if r.Digest != "" {
		return "exactly " + r.Shown
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Match)) {
		all = append(all, fmt.Sprintf("%s like %q", name, r.Match[name]))
	}
	for _, name := range r.Any {
		all = append(all, name+" anything")
	}
	text := strings.Join(all, ", ")
	if len(r.Same) > 0 {
		text += "; " + strings.Join(slices.Sorted(maps.Keys(r.Same)), ", ") + " as in " + r.Shown
	}
	return text
}

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

func (a *CLI) policyCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "policy",
		Short: "Find out who may use which tool, and why",
		Long:  "policy answers questions about the policy section of the settings.",
	}, a.policyExplainCommand(), a.policyTableCommand(), a.policyCheckCommand())
}

func (a *CLI) policyExplainCommand() *cobra.Command {
	var subject policy.Subject
	var sender string
	cmd := &cobra.Command{
		Use:   "explain TOOL",
		Short: "Explain why a caller may or may not use a tool",
		Long: `explain prints the verdict for one tool and one caller, and every step that led to
it. The verdict is for the riskiest call of the tool; if calls of the tool have
different risks, the verdict for the others is printed too. The caller is given by
--profile, --agent, --user, --provider, --chat, --group, --sender, --depth and --leaf.`,
		Example: `  mcp-tools policy explain datetime
  mcp-tools policy explain datetime --profile minimal
  mcp-tools policy explain write_file --chat telegram:-100123 --sender ann
  mcp-tools policy explain session_status --depth 1 --agent ann`,
		Args:              takes("TOOL"),
		ValidArgsFunction: completeFirst(toolNames),
		RunE: func(_ *cobra.Command, args []string) error {
			if subject.Depth < 0 {
				return app.Usagef("--depth is %d, it must be 0 for an agent, or 1 and more for its subagents",
					subject.Depth)
			}
			v, err := a.Examine()
			if err != nil {
				return err
			}
			t, err := v.Find(args[0])
			if err != nil {
				return err
			}
			known := v.Subject()
			subject.Profile, subject.Agent, subject.Provider = known.Profile, known.Agent, known.Provider
			subject.Person = known.Person
			if sender != "" {
				subject.Person = sender
			}
			d := explain(v, subject, t)
			return a.show(d, func(w io.Writer) error { return a.printExplained(w, d) })
		},
	}
	cmd.Flags().StringVar(&subject.Group, "chat", "", "ID of the caller's chat")
	cmd.Flags().BoolVar(&subject.InGroup, "group", false, "the chat is a group")
	cmd.Flags().StringVar(&sender, "sender", "", "who writes in the chat (default: the user)")
	cmd.Flags().IntVar(&subject.Depth, "depth", 0, "0 for an agent, 1 or more for its subagents")
	cmd.Flags().BoolVar(&subject.Leaf, "leaf", false, "the caller is a subagent that may not start others")
	return cmd
}

// explained is the verdict for a tool, and for calls with less risk.
type explained struct {
	policy.Decision
	Calls map[string]policy.Verdict `json:"calls,omitempty"` // by what they do: reads, writes, ...
}

// explain returns the verdict on a tool, and the verdict for each risk if calls of
// the tool have different risks.
func explain(v *app.View, who policy.Subject, t tool.Tool) explained {
	e := explained{Decision: v.Policy.Explain(who, t.Spec.Name)}
	if !t.Rates {
		return e
	}
	e.Calls = make(map[string]policy.Verdict)
	for risk := tool.Reads; risk <= t.Spec.Risk; risk++ {
		e.Calls[risk.String()] = v.Policy.For(who, t.Spec.Name, risk)
	}
	return e
}

// milder returns the verbs of the risks that are allowed, if the tool is not.
func (e explained) milder() (verbs []string) {
	for risk := tool.Reads; risk <= tool.Runs && e.Verdict != policy.Allow; risk++ {
		if e.Calls[risk.String()] == policy.Allow {
			verbs = append(verbs, strings.TrimSuffix(risk.String(), "s"))
		}
	}
	return verbs
}

func (a *CLI) printExplained(w io.Writer, d explained) error {
	paint := a.painter(w)
	if _, err := fmt.Fprintf(w, "%s: %s\n", d.Tool, paint.Word(d.Verdict.String())); err != nil {
		return err
	}
	if verbs := d.milder(); len(verbs) > 0 {
		if _, err := fmt.Fprintf(
			w, "calls of it that only %s: %s\n", strings.Join(verbs, " or "), paint.Word(policy.Allow.String()),
		); err != nil {
			return err
		}
	}
	rows := [][]string{{"STEP", "EFFECT", "WHY"}}
	for _, s := range d.Steps {
		rows = append(rows, []string{s.Name, string(s.Effect), s.Why})
	}
	return paint.Columns(w, rows)
}

// A tableRow has the verdict of each profile for a tool.
type tableRow struct {
	Tool     string                    `json:"tool"`
	Risk     tool.Risk                 `json:"risk"`
	Verdicts map[string]policy.Verdict `json:"verdicts"` // by profile
}

func (a *CLI) policyTableCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "table",
		Short: "Show all tools and profiles at a glance",
		Long: `table prints the verdict of each profile for each tool: allow, ask (an approval is
required) or - (denied, and not visible). Rules for an agent or a provider apply if
--agent or --provider names it.`,
		Example: `  mcp-tools policy table
  mcp-tools policy table --autonomy readonly --agent ann`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			v, err := a.Examine()
			if err != nil {
				return err
			}
			list := table(v, v.Subject())
			return a.show(list, func(w io.Writer) error { return a.printTable(w, v.Policy.Names(), list) })
		},
	}
}

func table(v *app.View, caller policy.Subject) []tableRow {
	list := []tableRow{}
	for t := range v.Tools.All() {
		row := tableRow{Tool: t.Spec.Name, Risk: t.Spec.Risk, Verdicts: make(map[string]policy.Verdict)}
		for _, name := range v.Policy.Names() {
			caller.Profile = name
			row.Verdicts[name] = v.Policy.Verdict(caller, t.Spec.Name)
		}
		list = append(list, row)
	}
	return list
}

func (a *CLI) printTable(w io.Writer, profiles []string, list []tableRow) error {
	head := []string{"TOOL", "RISK"}
	for _, name := range profiles {
		head = append(head, strings.ToUpper(name))
	}
	rows := [][]string{head}
	for _, t := range list {
		row := []string{t.Tool, t.Risk.String()}
		for _, name := range profiles {
			word := "-"
			if verdict := t.Verdicts[name]; verdict != policy.Deny {
				word = verdict.String()
			}
			row = append(row, word)
		}
		rows = append(rows, row)
	}
	return a.painter(w).Columns(w, rows)
}

func (a *CLI) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check",
		Short: "Find mistakes in the rules",
		Long: `check reads the settings and reports names that do not exist and entries that match
no tool, each with its line. The exit code is 2 if there are mistakes; entries that
match no tool are only warnings.`,
		Example: `  mcp-tools policy check
  mcp-tools policy check --config new.yaml --output json`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			v, err := a.Examine()
			if err != nil {
				return a.showProblems(err)
			}
			return a.show(problemRows(v.Warnings), func(w io.Writer) error {
				if err := a.printProblems(w, v.Warnings); err != nil {
					return err
				}
				_, err := fmt.Fprintf(w, "%s, %s, no mistakes, %s without effect\n",
					text.Plural(len(v.Policy.Names()),
						"profile"), text.Plural(v.Tools.Len(), "tool"), text.Plural(len(v.Warnings), "rule"))
				return err
			})
		},
	}
}

// A problemRow is a config.Problem as JSON.
type problemRow struct {
	Source   string `json:"source"`
	Line     int    `json:"line,omitempty"`
	Key      string `json:"key,omitempty"`
	Text     string `json:"text"`
	Severity string `json:"severity"` // error or warning
}

func problemRows(problems config.Problems) []problemRow {
	rows := make([]problemRow, 0, len(problems))
	for _, p := range problems {
		severity := "error"
		if p.Warning {
			severity = "warning"
		}
		rows = append(rows, problemRow{p.Source, p.Line, p.Key, p.Text, severity})
	}
	return rows
}

func (a *CLI) printProblems(w io.Writer, problems config.Problems) error {
	for _, p := range problems {
		if _, err := fmt.Fprintln(w, terminal.OneLine(p.String())); err != nil {
			return err
		}
	}
	return nil
}

// Package verdict has the verbs for operators to ask the policy of their settings about the
// access of callers to tools, and the reasons. It decides nothing; package policy does. Begin
// with Room.
package verdict

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A View is a policy with the tools and the caller that it decides about.
type View struct {
	Policy   *policy.Policy
	Tools    []tool.Tool
	Find     func(name string) (tool.Tool, error) // by its name or an alias
	Caller   policy.Subject                       // of the settings
	Warnings config.Problems                      // rules without effect
}

// Room returns the verbs about the policy of a view. Mistakes in the settings are an
// error of view.
func Room(view func() (View, error)) *room.Room {
	o := operator{view}
	return &room.Room{
		Name: "policy", Title: "Explain the decisions of the policy about tools",
		Doc: "policy answers questions about the policy section of the settings.",
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "explain", Title: "Explain why a caller may or may not use a tool", Args: []string{"tool"},
				Risk: tool.Reads, Where: room.Operator,
				Doc: `explain prints the verdict for one tool and one caller, and every step that led to
it. The verdict is for the riskiest call of the tool; if calls of the tool have
different risks, the verdict for the others is printed too. The caller is given by
--profile, --agent, --user, --provider, --chat, --group, --sender, --depth and --leaf.`,
				Example: `  mcp-tools policy explain datetime
  mcp-tools policy explain datetime --profile minimal
  mcp-tools policy explain write_file --chat telegram:-100123 --sender ann
  mcp-tools policy explain session_status --depth 1 --agent ann`,
			}, o.explain),
			room.Do(room.Verb{
				Name: "table", Title: "Show all tools and profiles at a glance", Risk: tool.Reads, Where: room.Operator,
				Doc: `table prints the verdict of each profile for each tool: allow, ask (an approval is
required) or - (denied, and not visible). Rules for an agent or a provider apply if
--agent or --provider names it.`,
				Example: "  mcp-tools policy table\n  mcp-tools policy table --autonomy readonly --agent ann",
			}, o.table),
			room.Do(room.Verb{
				Name: "check", Title: "Find mistakes in the rules", Risk: tool.Reads, Where: room.Operator,
				Doc: `check reads the settings and reports names that do not exist and entries that match
no tool, each with its line. The exit code is 2 if there are mistakes; entries that
match no tool are only warnings.`,
				Example: "  mcp-tools policy check\n  mcp-tools policy check --config new.yaml --output json",
			}, o.check),
		},
	}
}

type operator struct{ view func() (View, error) }

type explainArgs struct {
	Tool   string `json:"tool" jsonschema:"name of the tool"`
	Chat   string `json:"chat,omitempty" jsonschema:"ID of the caller's chat"`
	Group  bool   `json:"group,omitempty" jsonschema:"the chat is a group"`
	Sender string `json:"sender,omitempty" jsonschema:"sender in the chat (default: the user)"`
	Depth  int    `json:"depth,omitempty" jsonschema:"0 for an agent, 1 or more for its subagents"`
	Leaf   bool   `json:"leaf,omitempty" jsonschema:"the caller is a subagent that may not start others"`
}

// explained is the verdict for a tool, and for calls with less risk.
type explained struct {
	policy.Decision
	Calls map[string]policy.Verdict `json:"calls,omitempty"` // by their risk, if calls of the tool differ in it
}

func (o operator) explain(_ context.Context, a explainArgs) (none tool.Result, err error) {
	if a.Depth < 0 {
		return none, room.Mistake("--depth is %d, it must be 0 for an agent, or 1 and more for its subagents", a.Depth)
	}
	v, err := o.view()
	if err != nil {
		return none, err
	}
	t, err := v.Find(a.Tool)
	if err != nil {
		return none, err
	}
	who := v.Caller
	who.Group, who.InGroup, who.Depth, who.Leaf = a.Chat, a.Group, a.Depth, a.Leaf
	if a.Sender != "" {
		who.Person = a.Sender
	}
	e := explained{Decision: v.Policy.Explain(who, t.Spec.Name)}
	var milder []string // the risks of calls that are allowed although the tool is not
	if t.Rates {
		e.Calls = make(map[string]policy.Verdict)
		for risk := tool.Reads; risk <= t.Spec.Risk; risk++ {
			verdict := v.Policy.For(who, t.Spec.Name, risk)
			e.Calls[risk.String()] = verdict
			if verdict == policy.Allow && e.Verdict != policy.Allow {
				milder = append(milder, strings.TrimSuffix(risk.String(), "s"))
			}
		}
	}
	said := fmt.Sprintf("%s: %s\n", e.Tool, e.Verdict)
	if milder != nil {
		said += fmt.Sprintf("calls of it that only %s: %s\n", strings.Join(milder, " or "), policy.Allow)
	}
	rows := [][]string{{"STEP", "EFFECT", "WHY"}}
	for _, s := range e.Steps {
		rows = append(rows, []string{s.Name, string(s.Effect), s.Why})
	}
	return tool.Text(said + terminal.Table(rows)).With(e), nil
}

// A row has the verdict of each profile for a tool.
type row struct {
	Tool     string                    `json:"tool"`
	Risk     tool.Risk                 `json:"risk"`
	Verdicts map[string]policy.Verdict `json:"verdicts"` // by profile
}

func (o operator) table(context.Context, struct{}) (none tool.Result, err error) {
	v, err := o.view()
	if err != nil {
		return none, err
	}
	profiles, head, list := v.Policy.Names(), []string{"TOOL", "RISK"}, []row{}
	for _, name := range profiles {
		head = append(head, strings.ToUpper(name))
	}
	for _, t := range v.Tools {
		r := row{Tool: t.Spec.Name, Risk: t.Spec.Risk, Verdicts: make(map[string]policy.Verdict)}
		for _, name := range profiles {
			who := v.Caller
			who.Profile = name
			r.Verdicts[name] = v.Policy.Verdict(who, t.Spec.Name)
		}
		list = append(list, r)
	}
	return room.Rows(list, "", head, func(r row) []string {
		cells := []string{r.Tool, r.Risk.String()}
		for _, name := range profiles {
			if verdict := r.Verdicts[name]; verdict != policy.Deny {
				cells = append(cells, verdict.String())
			} else {
				cells = append(cells, "-")
			}
		}
		return cells
	}), nil
}

func (o operator) check(context.Context, struct{}) (tool.Result, error) {
	v, err := o.view()
	var problems config.Problems
	if errors.As(err, &problems) {
		return tool.Result{Data: problems}, err
	} else if err != nil {
		return tool.Result{}, err
	}
	said := ""
	for _, p := range v.Warnings {
		said += terminal.OneLine(p.String()) + "\n"
	}
	return room.Said(append(config.Problems{}, v.Warnings...), "%s%s, %s, no mistakes, %s without effect", said,
		text.Plural(len(v.Policy.Names()), "profile"), text.Plural(len(v.Tools), "tool"),
		text.Plural(len(v.Warnings), "rule")), nil
}

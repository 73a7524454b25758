package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/spf13/cobra"

	"github.com/mcp-tools/mcp-tools/internal/tokencount"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/teams"
)

func (a *CLI) toolsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "tools",
		Short: "Show the tools that a caller sees",
		Long: `tools shows the tools of a caller. The caller is given by the flags and settings of
serve: --profile, --agent, --provider, --autonomy.`,
	}, a.toolsListCommand(), a.toolsDescribeCommand(), a.toolsTokensCommand())
}

// A toolRow is a tool in a list.
type toolRow struct {
	Name        string    `json:"name"`
	Group       string    `json:"group"`
	Risk        tool.Risk `json:"risk"`
	Verdict     string    `json:"verdict"` // of the policy, or missing
	Description string    `json:"description"`
	Needs       string    `json:"needs,omitempty"` // the missing requirement of a tool
}

func (a *CLI) toolsListCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the tools that a caller sees",
		Long: `list prints the tools that a client of this caller gets, their risk, and whether calls
need an approval. After them it prints tools with the verdict "missing", which need
something that is not set up. Tools that the policy denies are not printed, nor those
that a short profile leaves to tool_search; mcp-tools policy table has all tools.`,
		Example: `  mcp-tools tools list
  mcp-tools tools list --profile coding --agent ann`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := a.Examine()
			if err != nil {
				return err
			}
			seen, err := a.Seen(cmd.Context())
			if err != nil {
				return err
			}
			list := []toolRow{}
			for _, t := range seen {
				row := toolRow{t.Spec.Name, t.Spec.Group, t.Spec.Risk, t.Verdict.String(), firstSentence(t.Spec.Doc), t.Needs}
				if t.Needs != "" {
					row.Verdict = "missing"
				}
				list = append(list, row)
			}
			none := fmt.Sprintf("profile %q has no tools; mcp-tools policy table shows the tools of all profiles",
				v.Policy.ProfileOf(v.Subject()))
			head := []string{"TOOL", "RISK", "VERDICT", "DESCRIPTION"}
			return showList(a, list, none, head, func(t toolRow) []string {
				if t.Needs != "" {
					return []string{t.Name, t.Risk.String(), t.Verdict, "Needs " + t.Needs + "."}
				}
				return []string{t.Name, t.Risk.String(), t.Verdict, t.Description}
			})
		},
	}
}

// firstSentence returns the first sentence of a description.
func firstSentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if sentence, _, more := strings.Cut(doc, ". "); more {
		return sentence + "."
	}
	return doc
}

// A description has everything about one tool.
type description struct {
	Tool    json.RawMessage `json:"tool"` // as the model sees it
	Group   string          `json:"group"`
	Risk    tool.Risk       `json:"risk"`
	Aliases []string        `json:"aliases,omitempty"`
	Profile string          `json:"profile"`
	Verdict policy.Verdict  `json:"verdict"`
	Bytes   int             `json:"bytes"`
	Tokens  int             `json:"estimated_tokens"`
}

func (a *CLI) toolsDescribeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe NAME",
		Short: "Show everything that the model sees of a tool",
		Long: `describe prints a tool as the model sees it, and its group, risk, policy verdict and
aliases, which the model does not see.`,
		Example: `  mcp-tools tools describe datetime
  mcp-tools tools describe datetime --output json --profile minimal`,
		Args:              takes("NAME"),
		ValidArgsFunction: completeFirst(toolNames),
		RunE: func(_ *cobra.Command, args []string) error {
			v, err := a.Examine()
			if err != nil {
				return err
			}
			d, err := describe(v, args[0])
			if err != nil {
				return err
			}
			return a.show(d, func(w io.Writer) error { return d.print(w, a.painter(w)) })
		},
	}
}

func describe(v *app.View, name string) (description, error) {
	t, err := v.Find(name)
	if err != nil {
		return description{}, err
	}
	caller := v.Subject()
	raw := server.Describe(t, false)
	return description{
		Tool: raw, Group: t.Spec.Group, Risk: t.Spec.Risk, Aliases: t.Spec.Also,
		Profile: v.Policy.ProfileOf(caller), Verdict: v.Policy.Verdict(caller, t.Spec.Name),
		Bytes: len(raw), Tokens: tokencount.Tool(raw),
	}, nil
}

func (d description) print(w io.Writer, paint terminal.Painter) error {
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, d.Tool, "", "  "); err != nil {
		return err
	}
	aliases := "none"
	if len(d.Aliases) > 0 {
		aliases = strings.Join(d.Aliases, ", ")
	}
	_, err := fmt.Fprintf(w, `policy:   %s in profile %s
risk:     %s
group:    %s
aliases:  %s
size:     %d bytes, about %d tokens (estimate of o200k_base)
the model sees:
%s
`, paint.Word(d.Verdict.String()), d.Profile, d.Risk, d.Group, aliases, d.Bytes, d.Tokens, &pretty)
	return err
}

// A weight is the size of a tool in tools/list.
type weight struct {
	Name   string `json:"name"`
	Bytes  int    `json:"bytes"`
	Tokens int    `json:"estimated_tokens"`
}

// weights are the sizes of the tools of one profile.
type weights struct {
	Profile string   `json:"profile"`
	Tools   []weight `json:"tools"`
	Bytes   int      `json:"bytes"` // of the whole answer to tools/list
	Tokens  int      `json:"estimated_tokens"`
}

func (a *CLI) toolsTokensCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tokens",
		Short: "Count the tokens of the list of tools",
		Long: `tokens prints the size of the answer to tools/list, for each tool and in total. Tokens
are an estimate for the encoding o200k_base; other encodings give different numbers
in about the same proportions. The tools of teams, which only members see, are left
out; those for models and for programs with credentials are counted, although a server
lists them only where some are set up.`,
		Example: `  mcp-tools tools tokens
  mcp-tools tools tokens --profile lean`,
		Args: takes(),
		RunE: func(*cobra.Command, []string) error {
			v, err := a.Examine()
			if err != nil {
				return err
			}
			sum := weigh(v)
			return a.show(sum, func(w io.Writer) error { return sum.print(w, a.painter(w)) })
		},
	}
}

// weigh writes the list of tools as the server does, and measures it. The tools of teams are left out, because only
// members of a team see them.
func weigh(v *app.View) weights {
	caller := v.Subject()
	sum := weights{Profile: v.Policy.ProfileOf(caller), Tools: []weight{}}
	var described [][]byte
	for _, t := range v.Visible(caller) {
		if t.Spec.Group == teams.Group {
			continue
		}
		raw := server.Describe(t, false)
		described = append(described, raw)
		tokens := tokencount.Tool(raw)
		sum.Tools = append(sum.Tools, weight{t.Spec.Name, len(raw), tokens})
		sum.Tokens += tokens
	}
	sum.Bytes = len(`{"tools":[` + string(bytes.Join(described, []byte(","))) + `]}`)
	return sum
}

func (s weights) print(w io.Writer, paint terminal.Painter) error {
	rows := [][]string{{"TOOL", "BYTES", "TOKENS"}}
	for _, t := range append(s.Tools, weight{"all of " + s.Profile, s.Bytes, s.Tokens}) {
		rows = append(rows, []string{t.Name, fmt.Sprint(t.Bytes), fmt.Sprint(t.Tokens)})
	}
	if err := paint.Columns(w, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w,
		"Bytes count in tools/list. Tokens (estimate for o200k_base) count in the text that clients pass to the model.")
	return err
}

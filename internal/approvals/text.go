package approvals

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Text writes the question so that a person sees all of the call and
// can tell the server's words from the agent's: first what happens and where, then
// the risk, then all on which the decision may depend.
func (c Call) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\nIt %s.\n\nDetails:\n%s", c.headline(), c.Effect(), argumentLines(c.Shown))
	for _, name := range slices.Sorted(maps.Keys(c.Facts)) {
		if name != IdentityFact {
			fmt.Fprintf(&b, "\n%s: %s", oneLine(name), oneLine(c.Facts[name]))
		}
	}
	for _, who := range [][2]string{{"User", c.User}, {"Agent", c.Agent}} {
		if who[1] != "" {
			fmt.Fprintf(&b, "\n%s: %s", who[0], oneLine(who[1]))
		}
	}
	return b.String()
}

// headline returns what the call is, in which workspace, and the reason for its risk.
func (c Call) headline() string {
	line := fmt.Sprintf("%s (%s)", oneLine(c.Title), oneLine(c.Tool))
	if c.Workspace != "" {
		line += " in " + oneLine(filepath.Base(c.Workspace))
	}
	if c.Why != "" {
		line += ": " + oneLine(c.Why)
	}
	return line
}

// argumentLines writes the arguments, each on a separate line. A text of several
// lines, or a long one, follows its name in lines that begin with a bar, so that
// it cannot imitate other lines of the question.
func argumentLines(shown string) string {
	d := jsontext.NewDecoder(strings.NewReader(shown))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return "Arguments: " + oneLine(shown)
	}
	lines := []string{"Arguments:"}
	for d.PeekKind() == '"' {
		name, err := d.ReadToken()
		if err != nil {
			return "Arguments: " + oneLine(shown)
		}
		key := oneLine(name.String())
		value, err := d.ReadValue()
		if err != nil {
			return "Arguments: " + oneLine(shown)
		}
		lines = append(lines, argument(key, value)...)
	}
	return strings.Join(lines, "\n")
}

func argument(name string, value jsontext.Value) []string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return []string{"  " + name + ": " + oneLine(string(value))}
	}
	if len(text) <= shortArgument && !strings.Contains(text, "\n") && name != "command" {
		return []string{"  " + name + ": " + oneLine(text)}
	}
	lines := []string{"  " + name + ":"}
	for line := range strings.SplitSeq(text, "\n") {
		lines = append(lines, "  | "+oneLine(line))
	}
	return lines
}

// shortArgument is the longest value that is written on the line of its name.
const shortArgument = 100

// oneLine replaces line breaks in text, so that it cannot imitate other lines of
// the question, and long runs of blanks, which could move a part of it out of sight.
func oneLine(text string) string {
	text = strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(tool.Visible(text))
	var b strings.Builder
	for {
		at := strings.Index(text, longBlank)
		if at < 0 {
			return b.String() + text
		}
		rest := strings.TrimLeft(text[at:], " ")
		fmt.Fprintf(&b, "%s<%d blanks>", text[:at], len(text)-at-len(rest))
		text = rest
	}
}

// longBlank is the shortest run of blanks that is counted instead of shown.
var longBlank = strings.Repeat(" ", 60)

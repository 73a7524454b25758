package approvals

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Text writes the question so that a person sees all of the call and
// can tell the server's words from the agent's.
func (c Call) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s (%s)? %s", c.Title, c.Tool, c.whatItDoes())
	b.WriteString("\n\n" + argumentLines(c.Shown))
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

// whatItDoes returns the effect of the call, and the reason for it.
func (c Call) whatItDoes() string {
	if c.Why != "" {
		return "It " + c.Effect() + ": " + oneLine(c.Why) + "."
	}
	return "It " + c.Effect() + "."
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
// the question.
func oneLine(text string) string {
	return strings.NewReplacer("\n", "<U+000A>", "\t", "<U+0009>").Replace(tool.Visible(text))
}

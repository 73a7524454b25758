package markdown

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Verbatim returns the front matter of a text as values of JSON, with numbers as [json.Number]. Other programs read
// the same values from it: text that only [FrontMatter] accepts, such as a plain value that contains ": ", is an
// error. Plain values are numbers, true, false and null by the core schema of YAML 1.2; dates are strings.
func Verbatim(text string) (map[string]any, error) {
	lines, _, _, err := splitMatter(text)
	if err != nil {
		return nil, err
	}
	root, err := parseYAML(lines)
	if err != nil {
		return nil, err
	}
	if len(root.Content) == 0 || root.Content[0].Kind != yaml.MappingNode {
		return nil, &SyntaxError{1, "there is no front matter of keys with values"}
	}
	if _, err := valueOf(root.Content[0], 1); err != nil { // anchors, depth, keys that occur twice
		return nil, err
	}
	value, err := verbatim(root.Content[0])
	if err != nil {
		return nil, err
	}
	return value.(map[string]any), nil
}

// verbatim returns the value of a node that [valueOf] has accepted.
func verbatim(n *yaml.Node) (any, error) {
	switch n.Kind {
	case yaml.MappingNode:
		all := make(map[string]any, len(n.Content)/2)
		for i := 0; i < len(n.Content); i += 2 {
			value, err := verbatim(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			all[n.Content[i].Value] = value
		}
		return all, nil
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			value, err := verbatim(item)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	if n.Style != 0 {
		return n.Value, nil
	}
	switch n.Value {
	case "", "~", "null", "Null", "NULL":
		return nil, nil
	case "true", "True", "TRUE":
		return true, nil
	case "false", "False", "FALSE":
		return false, nil
	}
	if !coreNumber().MatchString(n.Value) {
		return n.Value, nil
	}
	number, ok := numberOf(n.Value)
	if !ok {
		return nil, &SyntaxError{n.Line, "this number cannot be written in JSON; put it in quotes"}
	}
	return number, nil
}

// coreNumber returns an expression for the numbers of YAML's core schema.
var coreNumber = text.Pattern(`^(?:` + strings.Join([]string{
	`0o[0-7]+`, `0x[0-9a-fA-F]+`, `[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?`,
	`[-+]?\.(?:inf|Inf|INF)`, `\.(?:nan|NaN|NAN)`,
}, "|") + `)$`)

// numberOf returns a number of YAML as JSON writes it.
func numberOf(written string) (json.Number, bool) {
	if n, err := strconv.ParseInt(strings.TrimPrefix(written, "+"), 10, 64); err == nil {
		return json.Number(strconv.FormatInt(n, 10)), true
	}
	for prefix, base := range map[string]int{"0o": 8, "0x": 16} {
		if digits, ok := strings.CutPrefix(written, prefix); ok {
			n, err := strconv.ParseInt(digits, base, 64)
			return json.Number(strconv.FormatInt(n, 10)), err == nil
		}
	}
	f, err := strconv.ParseFloat(written, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return "", false
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64)), true
}

package config

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// MaxFile is the max size of the file in bytes.
const MaxFile = 1 << 20

// parse reads the one document of a YAML text. It returns nil if the text is empty,
// and at most one problem, since nothing after a syntax error can be trusted.
func parse(text []byte, source string) (*yaml.Node, *Problem) {
	if len(text) > MaxFile {
		return nil, &Problem{Source: source, Text: "longer than 1 MiB; is it the right file?"}
	}
	if i := brokenText(text); i >= 0 {
		return nil, &Problem{Source: source, Line: lineOf(text, i), Text: "not UTF-8; save the file in that encoding"}
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, syntaxProblem(err, text, source)
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return nil, &Problem{Source: source, Line: second.Line,
			Text: "a second document begins here; remove the line with ---"}
	case !errors.Is(err, io.EOF):
		return nil, syntaxProblem(err, text, source)
	}
	root := document.Content[0]
	if isNull(root) {
		return nil, nil
	}
	return root, nil
}

var (
	yamlLine    = text.Pattern(`^(?:yaml: )?(?:line ([0-9]+): )?(.*)`)
	yamlMissing = text.Pattern(`unknown anchor '(.*)' referenced`)
)

// syntaxProblem converts the parser's error to a Problem. Its line is the line
// where the element begins that could not be parsed.
func syntaxProblem(err error, text []byte, source string) *Problem {
	found := yamlLine().FindStringSubmatch(err.Error())
	line, _ := strconv.Atoi(found[1]) // no number means the first line
	p := &Problem{Source: source, Line: max(line, 1), Text: "not YAML, here or below: " + printable(brief(found[2]))}
	if name := yamlMissing().FindStringSubmatch(found[2]); name != nil {
		p.Line = lineOf(text, bytes.Index(text, []byte("*"+name[1])))
		p.Text = "nothing above is marked with " + strconv.Quote("&"+brief(name[1]))
	} else if tab := tabbedLine(text); tab > 0 {
		p.Line, p.Text = tab, "a tab indents this line; YAML wants spaces"
	}
	return p
}

// lineOf returns the line of an offset, counting from 1.
func lineOf(text []byte, place int) int { return 1 + bytes.Count(text[:max(place, 0)], []byte("\n")) }

// brokenText returns the offset of the first byte that is not UTF-8, or -1.
func brokenText(text []byte) int {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// tabbedLine returns the first line that begins with a tab, counting from 1. In text
// that is not YAML, that is the likely reason.
func tabbedLine(text []byte) int {
	for i, line := range strings.Split(string(text), "\n") {
		if blank := line[:len(line)-len(
			strings.TrimLeft(line, " \t"),
		)]; strings.Contains(blank, "\t") && len(blank) < len(line) {
			return i + 1
		}
	}
	return 0
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// called describes a node.
func called(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a map"
	case yaml.SequenceNode:
		return "a list"
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "true or false"
	case "!!int", "!!float":
		return "a number"
	case "!!str", "!!timestamp":
		return "text"
	}
	return "a value tagged " + strconv.Quote(brief(n.Tag))
}

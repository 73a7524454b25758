package markdown

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Field is one key of front matter with its value: nil, string, bool, []any or [Fields]. Numbers and dates are
// strings, as they are written.
type Field struct {
	Key   string
	Value any
	Line  int // of the text, counting from 1
}

// Fields are the keys of front matter, or of a map in it, in their order. No key occurs twice.
type Fields []Field

// Get returns the value of a key.
func (f Fields) Get(key string) (any, bool) {
	for _, field := range f {
		if field.Key == key {
			return field.Value, true
		}
	}
	return nil, false
}

// Text returns the value of a key as text. It is "" if there is no such key, and for lists and maps.
func (f Fields) Text(key string) string {
	value, _ := f.Get(key)
	return scalarText(value)
}

// Texts returns the value of a key as a list; a single value is a list of one. Empty texts, and lists and maps in the
// list are left out.
func (f Fields) Texts(key string) []string {
	value, _ := f.Get(key)
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var texts []string
	for _, v := range list {
		if text := scalarText(v); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case bool:
		return fmt.Sprint(v)
	}
	return ""
}

// SyntaxError reports an invalid line of front matter.
type SyntaxError struct {
	Line    int // of the text, counting from 1
	Problem string
}

// Error returns the line and the problem.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

const (
	maxMatter = 64 << 10 // bytes of front matter
	maxDepth  = 10       // maps and lists in each other
	maxKey    = 200      // bytes
)

// FrontMatter splits a text into the fields between the --- lines at its beginning, and the body after them with the
// number of its first line. A text without front matter is all body, and so is one that begins with a thematic break:
// in front matter a key, or { of JSON, follows in the line below ---, with only comments between.
//
// Front matter is YAML, without anchors, aliases, tags and merge keys, of at most 64 KiB. A plain value may
// contain ": ". YAML does not allow this, but people write it. A plain true, false or null is not a string;
// everything else is, yes and 007 too.
//
// The error is a [*SyntaxError]; the body is right in that case too.
func FrontMatter(text string) (meta Fields, body string, bodyLine int, err error) {
	lines, body, bodyLine, err := splitMatter(text)
	if lines == nil {
		return nil, body, bodyLine, err
	}
	meta, err = parseMatter(lines)
	return meta, body, bodyLine, err
}

// splitMatter returns the lines of the front matter of a text, nil without front matter, and the body.
func splitMatter(text string) (lines []string, body string, bodyLine int, err error) {
	clean := strings.TrimPrefix(text, "\ufeff")
	if !opensMatter(clean) {
		return nil, text, 1, nil
	}
	last := closeOfMatter(clean)
	if last == 0 {
		return nil, text, 1, &SyntaxError{1,
			fmt.Sprintf("the front matter is not closed by a line --- within %d KiB", maxMatter>>10)}
	}
	lines = []string{""} // for the opening line, so that line numbers count from the start of the text
	r := read(clean, 0, 1)
	for r.step(); r.no < last; r.step() {
		lines = append(lines, strings.TrimSuffix(r.line, "\r"))
	}
	r.step()
	return lines, clean[min(r.at, len(clean)):], r.no, nil
}

func isBar(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// closesMatter reports whether a line ends front matter.
func closesMatter(line string) bool { return isBar(line) || strings.TrimRight(line, " \t\r") == "..." }

// firstKey returns an expression for the first line of front matter that is no
// comment. Like the next, it is large, and most processes never need it.
var firstKey = text.Pattern(`^[ \t]*(?:\{|["'_\pL\p{Nd}].*:(?:[ \t]|$))`)

// opensMatter reports whether a text without byte order mark begins with front matter.
func opensMatter(text string) bool {
	r := read(text, 0, 1)
	if r.over || !isBar(r.line) {
		return false
	}
	for r.step(); strings.HasPrefix(r.line, "#") && r.at < maxMatter; r.step() {
	}
	return closesMatter(r.line) || firstKey().MatchString(strings.TrimSuffix(r.line, "\r"))
}

// closeOfMatter returns the number of the line that closes the front matter of a text, 0 if it has none.
func closeOfMatter(text string) int {
	if !opensMatter(text) {
		return 0
	}
	r := read(text, 0, 1)
	for r.step(); !r.over && r.at < maxMatter; r.step() {
		if closesMatter(r.line) {
			return r.no
		}
	}
	return 0
}

// parseMatter reads the lines of front matter.
func parseMatter(lines []string) (Fields, error) {
	root, err := parseYAML(lines)
	if err != nil {
		var failed error
		if root, failed = parseYAML(quoteColons(lines)); failed != nil {
			return nil, err
		}
	}
	if len(root.Content) == 0 {
		return nil, nil
	}
	value, err := valueOf(root.Content[0], 1)
	if err != nil {
		return nil, err
	}
	fields, ok := value.(Fields)
	if !ok {
		return nil, &SyntaxError{root.Content[0].Line, "front matter has to be keys with values, as in name: value"}
	}
	return fields, nil
}

// parseYAML returns the document of some lines. Lines in errors are approximate: the library names the line where the
// list or map begins that it cannot read.
func parseYAML(lines []string) (root yaml.Node, err error) {
	d := yaml.NewDecoder(strings.NewReader(strings.Join(lines, "\n") + "\n"))
	err = d.Decode(&root)
	if err == nil && !errors.Is(d.Decode(&yaml.Node{}), io.EOF) {
		err = errors.New("there is text after the end of the front matter")
	}
	if err == nil || errors.Is(err, io.EOF) {
		return root, nil
	}
	problem := strings.TrimPrefix(err.Error(), "yaml: ")
	line := 1
	if n, _ := fmt.Sscanf(problem, "line %d:", &line); n == 1 {
		_, problem, _ = strings.Cut(problem, ": ")
	}
	return root, &SyntaxError{min(max(line, 1), len(lines)), problem}
}

// keyWithColons returns an expression for a line with a key and a plain value that
// contains a colon and a space.
var keyWithColons = text.Pattern(`^((?: |- )*[\pL\pN_][^\s:'"]*:[ \t]+)([^\s'"\[\]{},|>&*!#%@` + "`" + `].*:(?: .*|))$`)

// blockScalar matches a line that ends with the mark of a block scalar.
var blockScalar = text.Pattern(`[:-][ \t]+[|>][-+0-9]*[ \t]*(?:#.*)?$`)

// quoteColons puts plain values that contain ": " into quotes, with the deeper lines that continue them.
func quoteColons(lines []string) []string {
	out := slices.Clone(lines)
	for i := 0; i < len(out); i++ {
		m := keyWithColons().FindStringSubmatch(out[i])
		if m == nil && !blockScalar().MatchString(out[i]) {
			continue
		}
		first, depth := i, len(out[i])-len(strings.TrimLeft(out[i], " "))
		for n := i + 1; n < len(out) && (blank(out[n]) || strings.HasPrefix(out[n][depth:], " ")); n++ {
			if !blank(out[n]) {
				i = n
			}
		}
		if m != nil {
			value, _, _ := strings.Cut(m[2], " #")
			out[first] = m[1] + strings.TrimRight(value, " \t")
			whole := strings.ReplaceAll(strings.Join(out[first:i+1], "\n")[len(m[1]):], "'", "''")
			copy(out[first:], strings.Split(m[1]+"'"+whole+"'", "\n"))
		}
	}
	return out
}

// valueOf returns the value of a node.
func valueOf(n *yaml.Node, depth int) (any, error) {
	switch {
	case depth > maxDepth:
		return nil, &SyntaxError{n.Line, fmt.Sprintf("this is nested more than %d deep", maxDepth)}
	case n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0:
		return nil, &SyntaxError{n.Line,
			"anchors, aliases and tags are not allowed; put text that begins with &, * or ! in quotes"}
	case strings.ContainsRune(n.Value, 0):
		return nil, &SyntaxError{n.Line, "the character U+0000 is not allowed"}
	}
	switch n.Kind {
	case yaml.MappingNode:
		return fieldsOf(n, depth)
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, item := range n.Content {
			value, err := valueOf(item, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		return list, nil
	}
	switch tag := n.ShortTag(); {
	case n.Style == 0 && tag == "!!null":
		return nil, nil
	case n.Style == 0 && tag == "!!bool":
		return strings.EqualFold(n.Value, "true"), nil
	}
	return n.Value, nil
}

// fieldsOf returns the keys and values of a map.
func fieldsOf(n *yaml.Node, depth int) (Fields, error) {
	fields := Fields{}
	lines := map[string]int{}
	for i := 0; i < len(n.Content); i += 2 {
		if _, err := valueOf(n.Content[i], depth); err != nil {
			return nil, err
		}
		name, line := n.Content[i].Value, n.Content[i].Line
		if n.Content[i].Kind != yaml.ScalarNode || name == "<<" || len(name) > maxKey {
			return nil, &SyntaxError{line, fmt.Sprintf("a key is a text of at most %d bytes and not <<", maxKey)}
		}
		if before, twice := lines[name]; twice {
			return nil, &SyntaxError{line, fmt.Sprintf("the key %q is in line %d already", name, before)}
		}
		lines[name] = line
		value, err := valueOf(n.Content[i+1], depth+1)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{name, value, line})
	}
	return fields, nil
}

// WithFrontMatter puts front matter before a body. [FrontMatter] reads the same fields from the result, and
// returns the body as it is.
func WithFrontMatter(meta Fields, body string) (string, error) {
	var b strings.Builder
	b.WriteString("---\n")
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(nodeOf(meta)), e.Close()); err != nil {
		return "", err
	}
	if b.Len() > maxMatter {
		return "", errors.New("the front matter is too large")
	}
	return b.String() + "---\n" + body, nil
}

// nodeOf returns the node of a value that a [Field] can have.
func nodeOf(value any) *yaml.Node {
	switch v := value.(type) {
	case Fields:
		n := &yaml.Node{Kind: yaml.MappingNode}
		for _, f := range v {
			n.Content = append(n.Content, nodeOf(f.Key), nodeOf(f.Value))
		}
		return n
	case []any:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for _, item := range v {
			n.Content = append(n.Content, nodeOf(item))
		}
		return n
	case string:
		n := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: v}
		if strings.Contains(v, "\n") { // the library cannot read back all blocks that it writes
			n.Style = yaml.DoubleQuotedStyle
		}
		return n
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: fmt.Sprint(v)}
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}
}

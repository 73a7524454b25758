package clients

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFile is the format of YAML settings files with a mapping of servers at the top
// level. Entries are whole lines, and the lines around them are not touched.
type yamlFile struct{ container string }

// A yamlDoc is a parsed settings file.
type yamlDoc struct {
	lines   []string // with their line ends
	root    *yaml.Node
	servers *yaml.Node // the mapping below the container; nil without it
	key     *yaml.Node // the key of the container
	next    int        // the index of the first line after the container
}

func (f yamlFile) parse(src []byte) (*yamlDoc, error) {
	d := &yamlDoc{lines: strings.SplitAfter(string(src), "\n"), root: &yaml.Node{Kind: yaml.MappingNode}}
	if n := len(d.lines); d.lines[n-1] == "" {
		d.lines = d.lines[:n-1]
	}
	if strings.ContainsAny(strings.ReplaceAll(string(src), "\r\n", "\n"), "\r\u0085\u2028\u2029") {
		return nil, errors.New("the file has line ends of another system; add the entry by hand")
	}
	var file, second yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(src))
	if err := decoder.Decode(&file); err != nil && err != io.EOF {
		return nil, fmt.Errorf("the file is not valid YAML: %w", err)
	} else if err == nil && decoder.Decode(&second) != io.EOF {
		return nil, errors.New("the file has more than one document; add the entry by hand")
	}
	if len(file.Content) > 0 && file.Content[0].Tag != "!!null" {
		d.root = file.Content[0]
	}
	if d.root.Kind != yaml.MappingNode {
		return nil, syntaxError(src, 0, "the settings should be a mapping")
	}
	i, err := find(d.root, f.container)
	if i < 0 || err != nil {
		return d, err
	}
	d.key = d.root.Content[i]
	d.next = d.end(d.root, i, len(d.lines))
	switch value := d.root.Content[i+1]; {
	case value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 && value.Anchor == "":
		d.servers = value
	case value.Kind == yaml.MappingNode && len(value.Content) == 0, value.Tag == "!!null":
		d.servers = &yaml.Node{Kind: yaml.MappingNode}
	default:
		return nil, fmt.Errorf("line %d: %q is not a mapping with a line for each key; add the entry by hand",
			value.Line, f.container)
	}
	return d, nil
}

// find returns the index of a key of a mapping, or -1.
func find(mapping *yaml.Node, key string) (int, error) {
	found := -1
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value != key {
			continue
		}
		if found >= 0 {
			return -1, fmt.Errorf("line %d: %q occurs twice; keep one", mapping.Content[i].Line, key)
		}
		found = i
	}
	return found, nil
}

// end returns the index of the line after the value of a key. Empty lines and comments
// before the next key belong to that.
func (d *yamlDoc) end(mapping *yaml.Node, i, limit int) int {
	end := limit
	if i+2 < len(mapping.Content) {
		end = mapping.Content[i+2].Line - 1
	}
	for end > mapping.Content[i].Line {
		text := strings.TrimSpace(d.lines[end-1])
		if text != "" && !strings.HasPrefix(text, "#") {
			break
		}
		end--
	}
	return end
}

// span returns the lines of the named entry: from is -1 if there is none.
func (d *yamlDoc) span(name string) (from, to int, entry *yaml.Node, err error) {
	if d.servers == nil {
		return -1, -1, nil, nil
	}
	i, err := find(d.servers, name)
	if i < 0 || err != nil {
		return -1, -1, nil, err
	}
	return d.servers.Content[i].Line - 1, d.end(d.servers, i, d.next), d.servers.Content[i+1], nil
}

func (f yamlFile) entry(src []byte, name string) (string, error) {
	d, err := f.parse(src)
	if err != nil {
		return "", err
	}
	from, to, _, err := d.span(name)
	if from < 0 || err != nil {
		return "", err
	}
	return strings.Join(d.lines[from:to], ""), nil
}

func (f yamlFile) set(src []byte, name string, want fields, owned func(string) bool) ([]byte, error) {
	d, err := f.parse(src)
	if err != nil {
		return nil, err
	}
	from, to, old, err := d.span(name)
	if err != nil {
		return nil, err
	}
	made := want.node()
	if old != nil && old.Kind == yaml.MappingNode {
		made = merged(old, made, owned)
		if equalNodes(old, made) {
			return src, nil
		}
	}
	newline := newlineOf(src)
	indent := "  "
	if d.servers != nil && len(d.servers.Content) > 0 {
		indent = strings.Repeat(" ", d.servers.Content[0].Column-1)
	}
	text, err := encode(&yaml.Node{Kind: yaml.MappingNode, Content: []*yaml.Node{scalar(name), made}}, indent, newline)
	if err != nil {
		return nil, err
	}
	switch {
	case from >= 0:
	case d.servers == nil:
		from, to = len(d.lines), len(d.lines)
		text = append([]string{f.container + ":" + newline}, text...)
	case len(d.servers.Content) == 0: // "extensions: {}" or "extensions:"
		from, to = d.key.Line-1, d.key.Line
		text = append([]string{f.container + ":" + newline}, text...)
	default:
		from, to = d.next, d.next
	}
	if from == len(d.lines) && from > 0 && !strings.HasSuffix(d.lines[from-1], "\n") {
		d.lines[from-1] += newline
	}
	return []byte(strings.Join(slices.Replace(d.lines, from, to, text...), "")), nil
}

// merged returns the wanted settings, and the settings of an entry that its user has added or
// changed.
func merged(old, want *yaml.Node, owned func(string) bool) *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(old.Content); i += 2 {
		key := old.Content[i].Value
		at, _ := find(want, key)
		switch {
		case !owned(key):
			out.Content = append(out.Content, old.Content[i], old.Content[i+1])
		case at >= 0:
			out.Content = append(out.Content, old.Content[i], want.Content[at+1])
		}
	}
	for i := 0; i < len(want.Content); i += 2 {
		if at, _ := find(out, want.Content[i].Value); at < 0 {
			out.Content = append(out.Content, want.Content[i], want.Content[i+1])
		}
	}
	return out
}

// equalNodes reports whether two values are equal in any style.
func equalNodes(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Value != b.Value || len(a.Content) != len(b.Content) {
		return false
	}
	for i := range a.Content {
		if !equalNodes(a.Content[i], b.Content[i]) {
			return false
		}
	}
	return true
}

func (f yamlFile) remove(src []byte, name string) ([]byte, error) {
	d, err := f.parse(src)
	if err != nil {
		return nil, err
	}
	from, to, _, err := d.span(name)
	if from < 0 || err != nil {
		return src, err
	}
	if len(d.servers.Content) == 2 {
		from = d.key.Line - 1
	}
	return []byte(strings.Join(slices.Delete(d.lines, from, to), "")), nil
}

func (f yamlFile) rest(src []byte, name string) ([]string, error) {
	d, err := f.parse(src)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, line := range d.lines {
		if text := strings.TrimSpace(line); strings.HasPrefix(text, "#") {
			out = append(out, text)
		}
	}
	if from, to, _, err := d.span(name); err != nil {
		return nil, err
	} else if from >= 0 {
		i, _ := find(d.servers, name)
		d.servers.Content = slices.Delete(d.servers.Content, i, i+2)
		for _, line := range d.lines[from:to] { // comments within our entry are ours
			if i := slices.Index(out, strings.TrimSpace(line)); i >= 0 {
				out = slices.Delete(out, i, i+1)
			}
		}
	}
	if d.servers != nil && len(d.servers.Content) == 0 {
		i, _ := find(d.root, f.container)
		d.root.Content = slices.Delete(d.root.Content, i, i+2)
	}
	if len(d.root.Content) == 0 {
		return out, nil
	}
	var plain any
	if err := d.root.Decode(&plain); err != nil {
		return nil, fmt.Errorf("the file is not valid YAML: %w", err)
	}
	text, err := yaml.Marshal(plain)
	return append(out, string(text)), err
}

// node returns the fields as a mapping.
func (f fields) node() *yaml.Node {
	out := &yaml.Node{Kind: yaml.MappingNode}
	for _, one := range f {
		value := &yaml.Node{}
		if inner, ok := one.value.(fields); ok {
			value = inner.node()
		} else if err := value.Encode(one.value); err != nil {
			value = scalar("") // strings, numbers, booleans and lists of strings always encode
		}
		out.Content = append(out.Content, scalar(one.key), value)
	}
	return out
}

func scalar(text string) *yaml.Node {
	node := &yaml.Node{}
	node.SetString(text)
	return node
}

// encode returns the lines of a mapping with an indentation.
func encode(mapping *yaml.Node, indent, newline string) ([]string, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := errors.Join(e.Encode(mapping), e.Close()); err != nil {
		return nil, fmt.Errorf("writing the entry: %w", err)
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		out = append(out, indent+strings.TrimSuffix(line, "\n")+newline)
	}
	return out, nil
}

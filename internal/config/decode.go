package config

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Limits of aliases in a document.
const (
	maxNodes = 100_000
	maxDepth = 16
)

// A decoder reads YAML values into sections. It continues after a problem, so that
// all are found at once; a value with a problem keeps its default.
type decoder struct {
	settings []Setting // all, to suggest one
	source   string
	at       origin
	problems Problems
	lines    map[string]int // where each value is, by path
	nodes    int
	patterns map[string]*regexp.Regexp
}

func newDecoder(settings []Setting, source string, at origin) *decoder {
	return &decoder{
		settings: settings, source: source, at: at,
		lines: make(map[string]int), patterns: make(map[string]*regexp.Regexp),
	}
}

// A spot is a value to read, and its place.
type spot struct {
	node  *yaml.Node
	path  string
	depth int
}

func (s spot) inner(n *yaml.Node, path string) spot { return spot{n, path, s.depth + 1} }

func (d *decoder) complain(s spot, format string, args ...any) {
	line := 0
	if s.node != nil {
		line = s.node.Line
	}
	d.problems = append(d.problems, Problem{
		Source: d.source, Line: line, Key: printable(s.path), Text: printable(fmt.Sprintf(format, args...)),
	})
}

// value reads one value into v as f declares it.
func (d *decoder) value(s spot, v reflect.Value, f field) {
	if d.nodes++; d.nodes > maxNodes || s.depth > maxDepth {
		if d.nodes <= maxNodes+1 {
			d.complain(s, "too deep or too much; aliases may not multiply without bounds")
			d.nodes = maxNodes + 1 // once is enough
		}
		return
	}
	if s.node.Kind == yaml.AliasNode {
		meant := *s.node.Alias
		meant.Line = s.node.Line // the line of the alias, not of the anchor
		d.value(s.inner(&meant, s.path), v, f)
		return
	}
	if d.lines[s.path] == 0 {
		d.lines[s.path] = s.node.Line
	}
	switch kindOf(f.typ) {
	case isSection:
		d.section(s, v)
	case isList:
		d.list(s, v, f)
	case isMap:
		d.table(s, v, f)
	default:
		d.scalar(s, v, f)
	}
}

// section reads a map with declared names. A section without a value is empty: all
// of its lines may be comments.
func (d *decoder) section(s spot, v reflect.Value) {
	declared := fields(v.Type())
	known := make([]string, len(declared))
	seen := make(map[string]bool)
	for i, f := range declared {
		known[i] = f.name
	}
	for _, p := range d.pairs(s) {
		seen[p.key] = true
		i := slices.Index(known, p.key)
		if i < 0 {
			d.complain(spot{p.name, Under(s.path, brief(p.key)), 0}, "no such setting; %s", d.meant(p.key, known))
			continue
		}
		here := s.inner(p.value, join(s.path, p.key))
		d.lines[here.path] = p.name.Line
		f := declared[i]
		if f.key == "" {
			d.value(here, v.Field(f.index), f)
			continue
		}
		text := reflect.New(f.typ).Elem()
		d.value(here, text, f)
		f.set(v, text)
	}
	for _, f := range declared {
		if f.required && !seen[f.name] {
			d.complain(s, "%s is missing; accepted: %s", f.name, f.accepted())
		}
	}
}

// meant suggests a name for an unknown one. That takes time, so it is only called
// for problems that are shown.
func (d *decoder) meant(name string, known []string) string {
	accepted := "accepted: " + strings.Join(known, ", ")
	if len(d.problems) >= maxShown {
		return accepted
	}
	if near := tool.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	for _, s := range d.settings {
		if strings.HasSuffix(s.Key, "."+name) {
			return fmt.Sprintf("did you mean %s?", s.Key)
		}
	}
	return accepted
}

// A pair is an entry of a map.
type pair struct {
	key         string
	name, value *yaml.Node
}

// pairs returns the entries of a map that have valid names.
func (d *decoder) pairs(s spot) []pair {
	if isNull(s.node) {
		return nil
	}
	if s.node.Kind != yaml.MappingNode {
		d.complain(s, "this is %s; accepted: a map", called(s.node))
		return nil
	}
	first := make(map[string]int)
	var list []pair
	for i := 0; i+1 < len(s.node.Content); i += 2 {
		name, value := s.node.Content[i], s.node.Content[i+1]
		here := spot{name, Under(s.path, brief(name.Value)), 0}
		line, twice := first[name.Value]
		switch {
		case name.Kind != yaml.ScalarNode:
			d.complain(spot{name, s.path, 0}, "a name in a map is one word, here it is %s", called(name))
		case name.ShortTag() == "!!merge":
			d.complain(here, "maps cannot be merged here; repeat the entries")
		case twice:
			d.complain(here, "set twice, first in line %d; keep one", line)
		default:
			first[name.Value] = name.Line
			list = append(list, pair{name.Value, name, value})
		}
	}
	return list
}

// list reads a list. An empty list is not the same as an absent one.
func (d *decoder) list(s spot, v reflect.Value, f field) {
	if s.node.Kind != yaml.SequenceNode {
		d.complain(s, "this is %s; accepted: %s", called(s.node), f.accepted())
		return
	}
	if f.required && len(s.node.Content) == 0 {
		d.complain(s, "this is empty; accepted: %s", f.accepted())
		return
	}
	items := reflect.MakeSlice(f.typ, len(s.node.Content), len(s.node.Content))
	for i, n := range s.node.Content {
		d.value(s.inner(n, Indexed(s.path, i)), items.Index(i), f.item())
	}
	v.Set(items)
}

// table reads a map with names that the operator chooses.
func (d *decoder) table(s spot, v reflect.Value, f field) {
	if isNull(s.node) {
		d.complain(s, "this is nothing; accepted: %s", f.accepted())
		return
	}
	table := reflect.MakeMap(f.typ)
	for _, p := range d.pairs(s) {
		here := s.inner(p.value, Under(s.path, p.key))
		d.lines[here.path] = p.name.Line
		if f.keys != "" {
			if _, err := d.shape(p.key, formNamed(f.keys)); err != nil {
				d.complain(spot{p.name, s.path, 0}, "%q is not %s", brief(p.key), formNamed(f.keys).words)
				continue
			}
		}
		item := reflect.New(f.typ.Elem()).Elem()
		d.value(here, item, f.item())
		table.SetMapIndex(reflect.ValueOf(p.key).Convert(f.typ.Key()), item)
	}
	v.Set(table)
}

package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// The validator follows schemas without a bound: a schema that refers to itself ends the
// program, and ten definitions that name each other ten times keep it busy for hours. A Checker
// therefore computes the cost of a check first. The computation visits each pair of a schema
// and a value once, where the validator comes back to a pair on each way that leads there.
const (
	maxCheckCost  = 1_000_000 // of one check; a unit takes about a microsecond
	maxCheckDepth = 500       // schemas that the validator is in at the same time
	maxPattern    = 5000      // steps of one pattern, with repetitions counted as often as they repeat
	bytesPerUnit  = 100       // of a value that the validator prints, and of a text times the steps of a pattern
)

// A Checker checks values against a JSON Schema from elsewhere. The cost of a check is bounded
// for every schema. Its methods may be called concurrently.
type Checker struct {
	root     *jsonschema.Schema
	resolved *jsonschema.Resolved
	refs     map[*jsonschema.Schema]*jsonschema.Schema // from a schema with a reference to the schema that it names
	patterns map[string]int                            // from a pattern to its steps
}

// NewChecker compiles a schema. It accepts JSON Schema 2020-12 and draft-07, and loads nothing: references must stay
// within the schema, and a schema must not refer to itself for the same value.
func NewChecker(schema json.RawMessage) (*Checker, error) {
	c := &Checker{
		root: new(jsonschema.Schema), refs: make(map[*jsonschema.Schema]*jsonschema.Schema),
		patterns: make(map[string]int),
	}
	if err := json.Unmarshal(schema, c.root); err != nil {
		return nil, err
	}
	places := make(map[string]*jsonschema.Schema)
	if err := c.survey("", c.root, places); err != nil {
		return nil, err
	}
	for _, s := range places {
		if s.Ref == "" {
			continue
		}
		fragment, ok := strings.CutPrefix(strings.TrimPrefix(s.Ref, c.root.ID), "#")
		pointer, err := url.PathUnescape(fragment)
		named := places[pointer]
		if err != nil || named == nil || !ok {
			return nil, fmt.Errorf("the reference %q does not name a part of the schema", s.Ref)
		}
		c.refs[s] = named
	}
	done := make(map[*jsonschema.Schema]bool)
	for _, s := range places {
		if c.refersToItself(s, done) {
			return nil, errors.New("it refers to itself for the same value")
		}
	}
	var err error
	c.resolved, err = c.root.Resolve(nil)
	return c, err
}

// survey notes the place of a schema and of all schemas within, and refuses schemas without a
// bound.
func (c *Checker) survey(at string, s *jsonschema.Schema, places map[string]*jsonschema.Schema) error {
	if s == nil {
		return nil
	}
	places[at] = s
	if s.Anchor != "" {
		places[s.Anchor] = s
	}
	if s.DynamicRef != "" || s.ID != "" && at != "" {
		return errors.New("it has a $dynamicRef or an inner $id, which are not supported")
	}
	patterns := []string{s.Pattern}
	for pattern := range s.PatternProperties {
		patterns = append(patterns, pattern)
	}
	for _, pattern := range patterns {
		parsed, err := syntax.Parse(pattern, syntax.Perl)
		if err != nil {
			return err
		}
		if c.patterns[pattern] = steps(parsed); c.patterns[pattern] > maxPattern {
			return errors.New("it has a pattern that is too large")
		}
	}
	for name, part := range within(s) {
		if err := c.survey(at+"/"+name, part, places); err != nil {
			return err
		}
	}
	return nil
}

// steps returns about how many steps a pattern has when its repetitions are written out.
func steps(p *syntax.Regexp) int {
	n := 1 + len(p.Rune)
	for _, sub := range p.Sub {
		n += steps(sub)
	}
	if p.Op == syntax.OpRepeat {
		n *= max(p.Min, p.Max, 1)
	}
	return min(n, maxPattern+1)
}

// within yields all schemas that a schema has, by the end of their JSON pointers.
func within(s *jsonschema.Schema) func(yield func(string, *jsonschema.Schema) bool) {
	return func(yield func(string, *jsonschema.Schema) bool) {
		for name, part := range map[string]*jsonschema.Schema{
			"items": s.Items, "additionalItems": s.AdditionalItems, "contains": s.Contains,
			"unevaluatedItems": s.UnevaluatedItems, "additionalProperties": s.AdditionalProperties,
			"propertyNames": s.PropertyNames, "unevaluatedProperties": s.UnevaluatedProperties, "not": s.Not,
			"if": s.If, "then": s.Then, "else": s.Else, "contentSchema": s.ContentSchema,
		} {
			if part != nil && !yield(name, part) {
				return
			}
		}
		for name, parts := range map[string][]*jsonschema.Schema{
			"prefixItems": s.PrefixItems, "items": s.ItemsArray, "allOf": s.AllOf, "anyOf": s.AnyOf, "oneOf": s.OneOf,
		} {
			for i, part := range parts {
				if !yield(name+"/"+strconv.Itoa(i), part) {
					return
				}
			}
		}
		escape := strings.NewReplacer("~", "~0", "/", "~1")
		for name, parts := range map[string]map[string]*jsonschema.Schema{
			"$defs": s.Defs, "definitions": s.Definitions, "properties": s.Properties,
			"patternProperties": s.PatternProperties, "dependentSchemas": s.DependentSchemas,
			"dependencies": s.DependencySchemas,
		} {
			for key, part := range parts {
				if !yield(name+"/"+escape.Replace(key), part) {
					return
				}
			}
		}
	}
}

// same yields the schemas that count for the same value as s.
func (c *Checker) same(s *jsonschema.Schema) []*jsonschema.Schema {
	all := []*jsonschema.Schema{c.refs[s], s.Not, s.If, s.Then, s.Else}
	all = slices.Concat(all, s.AllOf, s.AnyOf, s.OneOf)
	for _, parts := range []map[string]*jsonschema.Schema{s.DependentSchemas, s.DependencySchemas} {
		for _, part := range parts {
			all = append(all, part)
		}
	}
	return slices.DeleteFunc(all, func(s *jsonschema.Schema) bool { return s == nil })
}

// refersToItself reports whether s comes back without stepping into the value. done has the schemas that were
// looked at: false while one is being looked at.
func (c *Checker) refersToItself(s *jsonschema.Schema, done map[*jsonschema.Schema]bool) bool {
	if finished, known := done[s]; known {
		return !finished
	}
	done[s] = false
	for _, next := range c.same(s) {
		if c.refersToItself(next, done) {
			return true
		}
	}
	done[s] = true
	return false
}

// Check returns how a value, as encoding/json decodes it, does not fit the schema, or nil.
func (c *Checker) Check(value any) error {
	m := meter{checker: c, known: make(map[pair]extent)}
	if m.of(c.root, weigh(value), 0); m.exceeded {
		return errors.New("the schema has too many ways to check these arguments; send fewer, or less deeply " +
			"nested ones")
	}
	return c.resolved.Validate(value)
}

// A weighed value knows how large it is.
type weighed struct {
	text  string // of a text
	size  int    // bytes, about
	items []*weighed
	names map[string]*weighed
}

func weigh(value any) *weighed {
	w := &weighed{size: 8}
	add := func(one *weighed) *weighed {
		w.size += one.size
		return one
	}
	switch v := value.(type) {
	case string:
		w.text, w.size = v, w.size+len(v)
	case []any:
		for _, one := range v {
			w.items = append(w.items, add(weigh(one)))
		}
	case map[string]any:
		w.names = make(map[string]*weighed, len(v))
		for name, one := range v {
			w.size += len(name)
			w.names[name] = add(weigh(one))
		}
	}
	return w
}

type pair struct {
	schema *jsonschema.Schema
	value  *weighed
}

// An extent is the cost of a check, and how deep it goes.
type extent struct{ cost, depth int }

// A meter computes the cost of checks. The computed cost is at least the cost of the validator.
type meter struct {
	checker  *Checker
	known    map[pair]extent
	spent    int // by the meter itself
	exceeded bool
}

func (m *meter) of(s *jsonschema.Schema, v *weighed, depth int) (e extent) {
	if s == nil || m.exceeded {
		return e
	}
	defer func() {
		m.exceeded = m.exceeded || e.cost > maxCheckCost || depth+e.depth > maxCheckDepth
	}()
	key := pair{s, v}
	if known, ok := m.known[key]; ok {
		return known
	}
	e = extent{cost: 1 + len(s.Enum) + len(s.Required) + v.size/bytesPerUnit, depth: 1}
	if s.UniqueItems {
		e.cost += v.size
	}
	if s.Pattern != "" {
		e.cost += m.checker.patterns[s.Pattern] * len(v.text) / bytesPerUnit
	}
	if m.spent += e.cost; m.spent > maxCheckCost || depth >= maxCheckDepth {
		m.exceeded = true
		return e
	}
	add := func(s *jsonschema.Schema, v *weighed) {
		one := m.of(s, v, depth+1)
		e.cost, e.depth = min(e.cost+one.cost, maxCheckCost+1), max(e.depth, one.depth+1)
	}
	for _, part := range m.checker.same(s) {
		add(part, v)
	}
	for i, item := range v.items {
		for _, list := range [][]*jsonschema.Schema{s.PrefixItems, s.ItemsArray} {
			if i < len(list) {
				add(list[i], item)
			}
		}
		for _, part := range []*jsonschema.Schema{s.Items, s.AdditionalItems, s.Contains, s.UnevaluatedItems} {
			add(part, item)
		}
	}
	for name, value := range v.names {
		add(s.Properties[name], value)
		if s.Properties[name] == nil {
			add(s.AdditionalProperties, value)
		}
		add(s.UnevaluatedProperties, value)
		if s.PropertyNames != nil {
			add(s.PropertyNames, &weighed{text: name, size: len(name)})
		}
		for pattern, part := range s.PatternProperties {
			e.cost += 1 + m.checker.patterns[pattern]*len(name)/bytesPerUnit
			add(part, value)
		}
	}
	m.known[key] = e
	return e
}

// converted returns value with texts replaced by values of the schema's types: "2" by a number,
// "true" by a boolean, JSON by a list or an object. Models write such texts, and so does a
// command line.
func (c *Checker) converted(s *jsonschema.Schema, value any) any {
	if s == nil {
		return value
	}
	switch v := value.(type) {
	case string:
		switch s.Type {
		case "number", "integer":
			if n, ok := asNumber(v); ok && (s.Type == "number" || n.whole) {
				if n.whole {
					return json.Number(strconv.FormatInt(n.integer, 10))
				}
				return json.Number(strconv.FormatFloat(n.float, 'g', -1, 64))
			}
		case "boolean":
			if truth, ok := asBool(v); ok {
				return truth
			}
		case "array":
			if list, ok := parsed(v).([]any); ok {
				return c.converted(s, list)
			}
		case "object":
			if object, ok := parsed(v).(map[string]any); ok {
				return c.converted(s, object)
			}
		}
	case []any:
		for i := range v {
			v[i] = c.converted(s.Items, v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = c.converted(s.Properties[name], v[name])
		}
	}
	return value
}

package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// maxComplaint is the most bytes of a validator's message that an error repeats.
const maxComplaint = 400

// NewForeign makes a Tool with a schema from elsewhere: another server, or an operator. Its
// arguments are checked. Texts that stand for a number, a boolean, a list or an object where
// the schema wants one are converted; nothing else is corrected, since the meaning of the
// arguments is not known. Its name may have capital letters and hyphens. [NewSet] reports
// errors of the schema.
func NewForeign(
	spec Spec, schema json.RawMessage, do func(ctx context.Context, args json.RawMessage) (Result, error),
) Tool {
	return PreparedForeign(spec, schema, func(_ context.Context, args json.RawMessage) (Plan, error) {
		return Plan{Run: func(ctx context.Context) (Result, error) { return do(ctx, args) }}, nil
	})
}

// PreparedForeign is NewForeign for a tool that prepares its calls, as a [Preparer] does.
func PreparedForeign(
	spec Spec, schema json.RawMessage, prepare func(ctx context.Context, args json.RawMessage) (Plan, error),
) Tool {
	validator := sync.OnceValues(func() (*Checker, error) { return compile(schema) })
	t := Tool{Spec: spec, foreign: true, form: sync.OnceValue(func() *argsForm {
		form := &argsForm{printed: schema}
		if _, err := validator(); err != nil {
			form.err = fmt.Errorf("tool %q: its schema does not compile: %w", spec.Name, err)
		}
		var line bytes.Buffer // a message is one line
		if json.Compact(&line, schema) == nil {
			form.printed = line.Bytes()
		}
		return form
	})}
	t.bind = func(raw json.RawMessage, limits Limits) (Call, error) {
		args, err := checked(spec.Name, raw, limits, validator)
		if err != nil {
			return Call{}, err
		}
		return Call{
			args: args, risk: spec.Risk,
			prepare: func(ctx context.Context) (Plan, error) { return prepare(ctx, args) },
		}, nil
	}
	return t
}

// checked returns arguments in their canonical form, or an error for the model.
func checked(name string, raw json.RawMessage, limits Limits, validator func() (*Checker, error)) (
	json.RawMessage, error,
) {
	value, err := decode(raw)
	if err != nil {
		return nil, Errorf(Invalid, "the arguments of %s are not JSON: %v", name, err).Try("send one JSON object")
	}
	b := binder{limits: limits}
	if object, ok := value.(map[string]any); ok && len(object) > limits.Params {
		return nil, Errorf(Invalid, "%s got %d arguments, the maximum is %d", name, len(object), limits.Params)
	}
	if why := b.excess(value, 0); why != "" {
		return nil, Errorf(Invalid, "the arguments of %s: a value %s", name, why)
	}
	checker, err := validator()
	if err != nil {
		return nil, err
	}
	value = checker.converted(checker.root, value)
	if why := b.excess(value, 0); why != "" {
		return nil, Errorf(Invalid, "the arguments of %s: a value %s", name, why)
	}
	args, err := json.Marshal(value) // sorted: equal calls are equal
	if err != nil {
		return nil, err
	}
	var plain any // the validator does not know json.Number
	if err := json.Unmarshal(args, &plain); err != nil {
		return nil, err
	}
	if err := checker.Check(plain); err != nil {
		return nil, Errorf(Invalid, "%s: %s", name, text.Clip(err.Error(), maxComplaint)).
			Try("see the tool's input schema")
	}
	return args, nil
}

// CheckSchema returns the reason why a schema cannot be the schema of a foreign tool, or nil.
func CheckSchema(schema json.RawMessage) error {
	_, err := compile(schema)
	return err
}

// compile makes the checker of arguments.
func compile(schema json.RawMessage) (*Checker, error) {
	c, err := NewChecker(schema)
	if err == nil && c.root.Type != "object" {
		err = errors.New(`it must be an object with "type": "object"`)
	}
	return c, err
}

// isForeignName reports whether text may be the name of a foreign tool: letters, digits, _ and
// -, at most 64.
func isForeignName(text string) bool {
	return text != "" && len(text) <= 64 && !strings.ContainsFunc(text, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-'
	})
}

// The bounds of a signature: depth of a foreign schema, members of a type, and types in all.
// The signature shows the rest as any.
const (
	maxForeignDepth   = 6
	maxForeignMembers = 40
	maxForeignTypes   = 400
)

// foreignSchema is a JSON Schema that is read for people and models. A part that is missing is
// any.
type foreignSchema struct {
	Type        any                      `json:"type"`
	Ref         string                   `json:"$ref"`
	Defs        map[string]foreignSchema `json:"$defs"`
	Definitions map[string]foreignSchema `json:"definitions"`
	Description string                   `json:"description"`
	Default     json.RawMessage          `json:"default"`
	Maximum     *float64                 `json:"maximum"`
	Enum        []any                    `json:"enum"`
	Const       json.RawMessage          `json:"const"`
	Items       json.RawMessage          `json:"items"`
	Properties  json.RawMessage          `json:"properties"`
	Required    []string                 `json:"required"`
	AnyOf       []foreignSchema          `json:"anyOf"`
	OneOf       []foreignSchema          `json:"oneOf"`
	Additional  json.RawMessage          `json:"additionalProperties"`
}

// A member is a property of an object. Members keep the order of the schema.
type member struct {
	name   string
	schema foreignSchema
}

func (s foreignSchema) members() (all []member) {
	d := json.NewDecoder(bytes.NewReader(s.Properties))
	if token, err := d.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for d.More() && len(all) < maxForeignMembers {
		name, err := d.Token()
		if err != nil {
			return all
		}
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return all
		}
		m := member{name: fmt.Sprint(name)}
		_ = json.Unmarshal(raw, &m.schema) // a schema that is none is any
		all = append(all, m)
	}
	return all
}

// readForeign reads the schema of a foreign tool.
func (t Tool) readForeign() (s foreignSchema) {
	_ = json.Unmarshal(t.Schema(), &s) // a schema that is none has no parameters
	return s
}

// A sketch writes foreign schemas as types.
type sketch struct {
	defs map[string]foreignSchema
	left int // types that may still be written
}

func (w *sketch) typeOf(s foreignSchema, depth int) string {
	if w.left--; w.left < 0 || depth > maxForeignDepth {
		return "any"
	}
	if s.Ref != "" {
		at := strings.LastIndexByte(s.Ref, '/')
		if named, ok := w.defs[s.Ref[at+1:]]; ok && strings.HasPrefix(s.Ref, "#/") {
			return w.typeOf(named, depth+1)
		}
		return "any"
	}
	if s.Const != nil {
		return string(s.Const)
	}
	if len(s.Enum) > 0 {
		return union(s.Enum, func(value any) string {
			written, err := json.Marshal(value)
			if err != nil {
				return "any"
			}
			return string(written)
		})
	}
	if either := slices.Concat(s.AnyOf, s.OneOf); len(either) > 0 {
		return union(either, func(one foreignSchema) string { return w.typeOf(one, depth+1) })
	}
	if list, ok := s.Type.([]any); ok {
		return union(list, func(one any) string {
			of := s
			of.Type = one
			return w.typeOf(of, depth+1)
		})
	}
	switch s.Type {
	case "array":
		var items foreignSchema
		_ = json.Unmarshal(s.Items, &items) // a schema that is none is any
		of := w.typeOf(items, depth+1)
		if strings.Contains(of, "|") {
			of = "(" + of + ")"
		}
		return of + "[]"
	case "object", nil:
		if members := s.members(); len(members) > 0 {
			return w.object(s, members, depth)
		}
		if s.Type == nil {
			return "any"
		}
		if len(s.Properties) > 0 && s.Additional == nil {
			return "{}"
		}
		var values foreignSchema
		_ = json.Unmarshal(s.Additional, &values)
		return "{[key: string]: " + w.typeOf(values, depth+1) + "}"
	}
	return fmt.Sprint(s.Type)
}

func (w *sketch) object(s foreignSchema, members []member, depth int) string {
	parts := make([]string, len(members))
	for i, m := range members {
		name := m.name
		if !isForeignName(name) || strings.Contains(name, "-") {
			name = fmt.Sprintf("%q", name)
		}
		if !slices.Contains(s.Required, m.name) {
			name += "?"
		}
		parts[i] = name + ": " + w.typeOf(m.schema, depth+1) + m.schema.comment()
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// comment returns the description with the default and the bounds.
func (s foreignSchema) comment() string {
	about := strings.ReplaceAll(text.Clip(strings.Join(strings.Fields(s.Description), " "), maxComplaint), "*/", "* /")
	if s.Default != nil && len(s.Default) < 80 && string(s.Default) != "null" {
		about += ", default " + string(s.Default)
	}
	if s.Maximum != nil {
		about += fmt.Sprintf(", at most %v", *s.Maximum)
	}
	if about == "" {
		return ""
	}
	return " /* " + strings.TrimPrefix(about, ", ") + " */"
}

// union joins types. Equal ones are written once.
func union[T any](all []T, write func(T) string) string {
	var types []string
	for _, one := range all[:min(len(all), maxForeignMembers)] {
		if written := write(one); !slices.Contains(types, written) {
			types = append(types, written)
		}
	}
	return strings.Join(types, "|")
}

// foreignType writes the arguments of a foreign tool as a type.
func (t Tool) foreignType() string {
	s := t.readForeign()
	if s.Properties == nil {
		return "{}"
	}
	w := &sketch{defs: s.Defs, left: maxForeignTypes}
	if w.defs == nil {
		w.defs = s.Definitions
	}
	return w.typeOf(s, 0)
}

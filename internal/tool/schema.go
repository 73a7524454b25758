package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// maxFields bounds the parameters of a tool. A tool that needs more should be two.
const maxFields = 20

// A schema describes the valid arguments of a tool. It is derived from a struct
// once, printed for the model, and walked to check and fill.
//
// Struct tags: json names a field and makes it optional with omitempty;
// jsonschema describes it; enum ("a,b"), min, max, maxlen (bytes), maxitems
// and default bound it; alias ("file_path,filename") lists the names that
// other systems use; hidden is for a parameter that is accepted and not shown,
// since only models that know a similar tool send it; list names the parameter
// that gets the value of this one, a string, if the model sends a list.
type schema struct {
	kind     kind
	doc      string
	fields   []field
	names    map[string]int // own names and aliases to fields
	items    *schema        // of arrays, and of the values of free objects
	enum     []string
	min, max *float64
	maxText  int
	maxItems int
	fallback any // the default, as decoded JSON; nil for none
}

type field struct {
	name     string
	index    []int
	required bool
	hidden   bool
	list     string // the parameter that gets a list
	schema   *schema
}

type kind string

const (
	kindAny     kind = ""
	kindString  kind = "string"
	kindInteger kind = "integer"
	kindNumber  kind = "number"
	kindBoolean kind = "boolean"
	kindArray   kind = "array"
	kindObject  kind = "object"
)

// derive makes the schema of t, which must be a struct.
func derive(t reflect.Type) (*schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("arguments must be a struct, not %s", t)
	}
	s, err := schemaOf(t, nil)
	if err != nil {
		return nil, err
	}
	if n := len(s.fieldNames()); n > maxFields {
		return nil, fmt.Errorf("%s has %d parameters, the maximum is %d", t, n, maxFields)
	}
	return s, nil
}

// schemaOf derives the schema of t. within holds the types around it, to refuse
// types that contain themselves.
func schemaOf(t reflect.Type, within []reflect.Type) (*schema, error) {
	for _, outer := range within {
		if outer == t {
			return nil, fmt.Errorf("%s contains itself", t)
		}
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return &schema{kind: kindAny}, nil
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), within)
	case reflect.Interface:
		return &schema{kind: kindAny}, nil
	case reflect.String:
		return &schema{kind: kindString}, nil
	case reflect.Bool:
		return &schema{kind: kindBoolean}, nil
	case reflect.Int, reflect.Int64, reflect.Int32:
		return &schema{kind: kindInteger}, nil
	case reflect.Float64:
		return &schema{kind: kindNumber}, nil
	case reflect.Slice:
		items, err := schemaOf(t.Elem(), append(within, t))
		return &schema{kind: kindArray, items: items}, err
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return nil, fmt.Errorf("%s: keys must be strings", t)
		}
		items, err := schemaOf(t.Elem(), append(within, t))
		return &schema{kind: kindObject, items: items}, err
	case reflect.Struct:
		return structSchema(t, append(within, t))
	}
	return nil, fmt.Errorf("%s has no JSON Schema", t)
}

func structSchema(t reflect.Type, within []reflect.Type) (*schema, error) {
	s := &schema{kind: kindObject, names: make(map[string]int)}
	var problems []error
	for _, f := range reflect.VisibleFields(t) {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			problems = append(problems, fmt.Errorf("%s.%s needs a json tag with a name", t, f.Name))
			continue
		}
		inner, err := schemaOf(f.Type, within)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: %w", t, f.Name, err))
			continue
		}
		if err := inner.read(f.Tag); err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: %w", t, f.Name, err))
		}
		problems = append(problems, s.add(field{
			name: name, index: f.Index, schema: inner,
			required: !strings.Contains(options, "omitempty"),
			hidden:   f.Tag.Get("hidden") != "", list: f.Tag.Get("list"),
		}, f.Tag.Get("alias")))
	}
	return s, errors.Join(problems...)
}

// add appends f under its name and its aliases.
func (s *schema) add(f field, aliases string) error {
	names := []string{f.name}
	if aliases != "" {
		names = append(names, strings.Split(aliases, ",")...)
	}
	for _, name := range names {
		if _, taken := s.names[name]; taken {
			return fmt.Errorf("two parameters accept the name %q", name)
		}
		s.names[name] = len(s.fields)
	}
	s.fields = append(s.fields, f)
	return nil
}

// read takes the description and the bounds from a field's tag.
func (s *schema) read(tag reflect.StructTag) error {
	s.doc = tag.Get("jsonschema")
	if s.doc == "" {
		return errors.New("needs a jsonschema tag: the model needs a description")
	}
	leaf := s
	if s.kind == kindArray {
		leaf = s.items
	}
	if enum := tag.Get("enum"); enum != "" {
		leaf.enum = strings.Split(enum, ",")
	}
	var err error
	if leaf.min, err = bound(tag.Get("min")); err != nil {
		return err
	}
	if leaf.max, err = bound(tag.Get("max")); err != nil {
		return err
	}
	if leaf.maxText, err = count(tag.Get("maxlen")); err != nil {
		return err
	}
	if s.maxItems, err = count(tag.Get("maxitems")); err != nil {
		return err
	}
	return s.readDefault(tag.Get("default"))
}

func (s *schema) readDefault(text string) error {
	if text == "" {
		return nil
	}
	if s.kind == kindString {
		s.fallback = text
	} else if err := json.Unmarshal([]byte(text), &s.fallback); err != nil {
		return fmt.Errorf("default %q is not JSON: %w", text, err)
	}
	return nil
}

func bound(text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	return &n, err
}

func count(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	return strconv.Atoi(text)
}

// json returns the schema as the model sees it, with the properties in the order
// of the struct.
func (s *schema) json() json.RawMessage {
	var b strings.Builder
	s.print(&b)
	return json.RawMessage(b.String())
}

func (s *schema) print(b *strings.Builder) {
	b.WriteByte('{')
	comma := ""
	member := func(key string, value any) {
		text, err := json.Marshal(value)
		if err != nil {
			return // strings, numbers and decoded JSON always marshal
		}
		b.WriteString(comma + `"` + key + `":` + string(text))
		comma = ","
	}
	if s.kind != kindAny {
		member("type", s.kind)
	} else {
		member("type", []kind{kindString, kindNumber, kindBoolean, kindObject, kindArray})
	}
	if s.doc != "" {
		member("description", s.doc)
	}
	if s.enum != nil {
		member("enum", s.enum)
	}
	if s.min != nil {
		member("minimum", *s.min)
	}
	if s.max != nil {
		member("maximum", *s.max)
	}
	if s.maxItems > 0 {
		member("maxItems", s.maxItems)
	}
	if s.fallback != nil {
		member("default", s.fallback)
	}
	switch {
	case s.kind == kindArray:
		member("items", s.items.json())
	case s.kind == kindObject && s.names == nil && s.items.kind != kindAny:
		member("additionalProperties", s.items.json())
	case s.kind == kindObject && s.names != nil:
		b.WriteString(comma)
		s.printFields(b)
	}
	b.WriteByte('}')
}

func (s *schema) printFields(b *strings.Builder) {
	b.WriteString(`"properties":{`)
	var required []string
	comma := ""
	for _, f := range s.fields {
		if f.hidden {
			continue
		}
		b.WriteString(comma + strconv.Quote(f.name) + ":")
		comma = ","
		f.schema.print(b)
		if f.required {
			required = append(required, strconv.Quote(f.name))
		}
	}
	b.WriteByte('}')
	if required != nil {
		b.WriteString(`,"required":[` + strings.Join(required, ",") + `]`)
	}
	b.WriteString(`,"additionalProperties":false`)
}

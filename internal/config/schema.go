package config

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// schema is the part of JSON Schema 2020-12 that is used here.
type schema struct {
	Dialect       string            `json:"$schema,omitempty"`
	Title         string            `json:"title,omitempty"`
	Description   string            `json:"description,omitempty"`
	Type          any               `json:"type"`
	Default       any               `json:"default,omitempty"`
	Enum          []string          `json:"enum,omitempty"`
	MinLength     int               `json:"minLength,omitempty"`
	Pattern       string            `json:"pattern,omitempty"`
	Minimum       *int64            `json:"minimum,omitempty"`
	Maximum       *int64            `json:"maximum,omitempty"`
	Items         *schema           `json:"items,omitempty"`
	MinItems      int               `json:"minItems,omitempty"`
	Properties    map[string]schema `json:"properties,omitempty"`
	Required      []string          `json:"required,omitempty"`
	PropertyNames *nameSchema       `json:"propertyNames,omitempty"`
	Additional    any               `json:"additionalProperties,omitempty"` // false or a *schema
}

type nameSchema struct {
	Pattern string `json:"pattern"`
}

// Schema returns a JSON Schema of the file, for editors. It accepts everything that Load accepts; it does not check all
// that Load checks, such as settings that do not go together.
func (r *Reader[T]) Schema() []byte {
	root := r.texts.schema(reflect.TypeFor[T]())
	root.Dialect = "https://json-schema.org/draft/2020-12/schema"
	root.Title = "Configuration of " + program
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil // strings and numbers can always be written
	}
	return append(text, '\n')
}

func (ts texts) schema(section reflect.Type) schema {
	s := schema{Type: []string{"object", "null"}, Properties: make(map[string]schema), Additional: false}
	for _, f := range fields(section) {
		inner := ts.fieldSchema(f)
		inner.Description = ts.of(section, f)
		s.Properties[f.name] = inner
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	if s.Required != nil {
		s.Type = "object" // an empty section lacks its required settings
	}
	return s
}

// fieldSchema returns the schema of f, without its description.
func (ts texts) fieldSchema(f field) schema {
	s := schema{Default: f.presetJSON()}
	switch kindOf(f.typ) {
	case isSection:
		s = ts.schema(f.typ)
	case isBool:
		s.Type = "boolean"
	case isWhole:
		s.Type = "integer"
		s.Minimum, s.Maximum = f.bound(f.min), f.bound(f.max)
	case isList:
		item := ts.fieldSchema(f.item())
		s.Type, s.Items = "array", &item
		if f.required {
			s.MinItems = 1
		}
	case isMap:
		item := ts.fieldSchema(f.item())
		s.Type, s.Additional = "object", &item
		if f.keys != "" {
			s.PropertyNames = &nameSchema{whole(formNamed(f.keys).pattern)}
		}
	case isWritten:
		f.writtenSchema(&s)
	default:
		s.Type, s.Enum, s.Pattern = "string", f.enum, f.textPattern()
	}
	return s
}

// writtenSchema sets the schema of a type with its own syntax. Bounds only apply to
// plain numbers.
func (f field) writtenSchema(s *schema) {
	s.Type, s.MinLength, s.Pattern = "string", 1, whole(writtenForm(f.typ).pattern)
	switch f.typ {
	case reflect.TypeFor[Duration](), reflect.TypeFor[time.Duration]():
		s.Type, s.Maximum, s.Minimum = []string{"string", "integer"}, new(int64), new(int64)
	case reflect.TypeFor[Size]():
		s.Type, s.Maximum, s.Minimum = []string{"string", "integer"}, f.bound(f.max), f.bound(f.min)
	}
}

func (f field) textPattern() string {
	switch {
	case f.form != "" && f.required:
		return whole(formNamed(f.form).pattern)
	case f.form != "":
		return whole(formNamed(f.form).pattern + "|")
	case f.required:
		return whole(anyText)
	}
	return ""
}

func whole(pattern string) string { return "^(?:" + pattern + ")$" }

func (f field) bound(text string) *int64 {
	if text == "" {
		return nil
	}
	x := bound(f, text, 0)
	return &x
}

// presetJSON returns the default as JSON.
func (f field) presetJSON() any {
	switch k := kindOf(f.typ); {
	case f.preset == "":
		return nil
	case k == isList:
		return commas(f.preset)
	case k == isBool:
		return f.preset == "true"
	case k == isWhole:
		x, err := strconv.Atoi(f.preset)
		if err != nil {
			return nil
		}
		return x
	}
	return f.preset
}

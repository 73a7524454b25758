package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// maxFields bounds the parameters of a tool of a [Set]. A tool that needs more should be two.
const maxFields = 20

// A schema describes the valid arguments of a tool. It is derived from a struct
// once, printed for the model, and walked to check and fill.
//
// Struct tags: json names a field and makes it optional with omitempty;
// jsonschema describes it; enum ("a,b"), min, max, maxlen (bytes), maxitems
// and default bound it; depth replaces the limit of nesting; alias ("file_path,filename") lists the names that
// other systems use; hidden is for a parameter that is accepted and not shown,
// since only models that know a similar tool send it; list names the parameter
// that gets the value of this one, a string, if the model sends a list. values:"plain"
// tells models that the values of a free object are neither lists nor objects.
type schema struct {
	kind     kind
	doc      string
	fields   []field
	names    []fieldName // own names and aliases; not nil for a struct
	items    *schema     // of arrays, and of the values of free objects
	enum     []string
	min, max *float64
	maxText  int
	maxItems int
	depth    int  // maximum of nesting; 0 is the usual one
	plain    bool // any value but lists and objects
	fallback any  // the default, as decoded JSON; nil for none
}

type field struct {
	name     string
	index    []int
	required bool
	hidden   bool
	list     string // the parameter that gets a list
	schema   *schema
}

// A fieldName is a name that the field with an index accepts. There are so few that a search through
// a list is as fast as a map, and a program has 200 lists.
type fieldName struct {
	name  string
	index int
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

// derive makes the schema of t. t must be a struct.
func derive(t reflect.Type) (*schema, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("arguments must be a struct, not %s", t)
	}
	return schemaOf(t, nil)
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
	visible := reflect.VisibleFields(t)
	s := &schema{kind: kindObject, names: make([]fieldName, 0, 2*len(visible)), fields: make([]field, 0, len(visible))}
	var problems []error
	var tags tagList
	for _, f := range visible {
		if !f.IsExported() || f.Anonymous {
			continue
		}
		tags = parseTags(tags[:0], f.Tag)
		name, options, _ := strings.Cut(tags.get("json"), ",")
		if name == "" || name == "-" {
			problems = append(problems, fmt.Errorf("%s.%s needs a json tag with a name", t, f.Name))
			continue
		}
		inner, err := schemaOf(f.Type, within)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: %w", t, f.Name, err))
			continue
		}
		if err := inner.read(tags); err != nil {
			problems = append(problems, fmt.Errorf("%s.%s: %w", t, f.Name, err))
		}
		problems = append(problems, s.add(field{
			name: name, index: f.Index, schema: inner,
			required: !strings.Contains(options, "omitempty"),
			hidden:   tags.get("hidden") != "", list: tags.get("list"),
		}, tags.get("alias")))
	}
	return s, errors.Join(problems...)
}

// A tagList has the pairs of a struct tag. Ten of them are looked up for each field
// at each start, and reflect.StructTag would parse the whole tag each time.
type tagList [][2]string

// parseTags appends the pairs of a tag in its usual form: name:"value" name:"value".
func parseTags(list tagList, tag reflect.StructTag) tagList {
	for rest := string(tag); rest != ""; {
		name, after, found := strings.Cut(rest, ":")
		quoted, err := strconv.QuotedPrefix(after)
		if !found || err != nil {
			break
		}
		value, _ := strconv.Unquote(quoted)
		list = append(list, [2]string{strings.TrimLeft(name, " "), value})
		rest = after[len(quoted):]
	}
	return list
}

func (l tagList) get(name string) string {
	for _, pair := range l {
		if pair[0] == name {
			return pair[1]
		}
	}
	return ""
}

// add appends f under its name and its aliases.
func (s *schema) add(f field, aliases string) error {
	all := f.name
	if aliases != "" {
		all += "," + aliases
	}
	for name := range strings.SplitSeq(all, ",") {
		if slices.ContainsFunc(s.names, func(n fieldName) bool { return n.name == name }) {
			return fmt.Errorf("two parameters accept the name %q", name)
		}
		s.names = append(s.names, fieldName{name, len(s.fields)})
	}
	s.fields = append(s.fields, f)
	return nil
}

// read takes the description and the bounds from a field's tag.
func (s *schema) read(tags tagList) error {
	s.doc = tags.get("jsonschema")
	if s.doc == "" {
		return errors.New("needs a jsonschema tag: the model needs a description")
	}
	leaf := s
	if s.kind == kindArray {
		leaf = s.items
	}
	if enum := tags.get("enum"); enum != "" {
		leaf.enum = strings.Split(enum, ",")
	}
	var err error
	if leaf.min, err = bound(tags.get("min")); err != nil {
		return err
	}
	if leaf.max, err = bound(tags.get("max")); err != nil {
		return err
	}
	if leaf.maxText, err = count(tags.get("maxlen")); err != nil {
		return err
	}
	if s.maxItems, err = count(tags.get("maxitems")); err != nil {
		return err
	}
	if s.depth, err = count(tags.get("depth")); err != nil {
		return err
	}
	if tags.get("values") == "plain" && s.kind == kindObject && s.items != nil {
		s.items.plain = true
	}
	return s.readDefault(tags.get("default"))
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

// json returns the schema as the model sees it, with the properties in the order of the struct. All schemas are written
// at each start: encoding/json takes 24 µs for five parameters, and this 3.
func (s *schema) json() json.RawMessage { return s.print(make([]byte, 0, 512)) }

func (s *schema) print(b []byte) []byte {
	switch {
	case s.kind != kindAny:
		b = append(append(append(b, `{"type":"`...), s.kind...), '"')
	case s.plain:
		b = append(b, `{"type":["string","number","boolean","null"]`...)
	default:
		b = append(b, `{"type":["string","number","boolean","object","array"]`...)
	}
	if s.doc != "" {
		b = appendQuoted(append(b, `,"description":`...), s.doc)
	}
	if s.enum != nil {
		b = append(appendList(append(b, `,"enum":[`...), s.enum), ']')
	}
	if s.min != nil {
		b = strconv.AppendFloat(append(b, `,"minimum":`...), *s.min, 'f', -1, 64)
	}
	if s.max != nil {
		b = strconv.AppendFloat(append(b, `,"maximum":`...), *s.max, 'f', -1, 64)
	}
	if s.maxItems > 0 {
		b = strconv.AppendInt(append(b, `,"maxItems":`...), int64(s.maxItems), 10)
	}
	if s.fallback != nil {
		if text, err := json.Marshal(s.fallback); err == nil { // decoded JSON always marshals
			b = append(append(b, `,"default":`...), text...)
		}
	}
	switch {
	case s.kind == kindArray:
		b = s.items.print(append(b, `,"items":`...))
	case s.kind == kindObject && s.names == nil && (s.items.kind != kindAny || s.items.plain):
		b = s.items.print(append(b, `,"additionalProperties":`...))
	case s.kind == kindObject && s.names != nil:
		b = s.printFields(b)
	}
	return append(b, '}')
}

func (s *schema) printFields(b []byte) []byte {
	b = append(b, `,"properties":{`...)
	var required []string
	comma := false
	for _, f := range s.fields {
		if f.hidden {
			continue
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		b = f.schema.print(append(appendQuoted(b, f.name), ':'))
		if f.required {
			required = append(required, f.name)
		}
	}
	b = append(b, '}')
	if required != nil {
		b = append(appendList(append(b, `,"required":[`...), required), ']')
	}
	return append(b, `,"additionalProperties":false`...)
}

// appendList writes JSON strings with commas in between.
func appendList(b []byte, texts []string) []byte {
	for i, one := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendQuoted(b, one)
	}
	return b
}

// appendQuoted writes a JSON string. Texts of the program are UTF-8.
func appendQuoted(b []byte, text string) []byte {
	quoted, err := jsontext.AppendQuote(b, text)
	if err != nil {
		return append(b, `""`...)
	}
	return quoted
}

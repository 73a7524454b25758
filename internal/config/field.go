package config

import (
	"cmp"
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A field is one declaration of a section, with its tags:
//
//	yaml      its name in the file
//	doc       its purpose; if absent, the texts of the section have it, see Texts
//	default   its default value; of lists, separated by commas, or * for all of enum
//	flag      its flag on the command line
//	flags     of a section declared elsewhere, the names in it that are flags too
//	min, max  bounds of numbers, sizes and durations
//	enum      the words that are accepted, separated by commas; if absent, the list of Words
//	form      the form of its text, see form.go; of lists and maps, of their values
//	keys      the form of a map's keys
//	required  it must be set if its parent is
//	restart   a change needs a restart; of a section, for all fields in it
type field struct {
	name     string
	index    int
	typ      reflect.Type
	doc      string
	preset   string // the default
	flag     string
	flags    []string
	min, max string
	enum     []string
	form     string
	keys     string
	required bool
	restart  bool
	key      string // of a declaration of Declared: its key in the map
}

// fields returns the declarations of a section, in their order.
func fields(section reflect.Type) []field {
	list := make([]field, 0, section.NumField())
	for i := range section.NumField() {
		declared := section.Field(i)
		if of, ok := reflect.Zero(declared.Type).Interface().(Declared); ok {
			for _, d := range of.Declared() {
				list = append(list, field{name: d.Name, index: i, typ: reflect.TypeFor[string](), doc: d.Doc, form: d.Form, key: d.Name})
			}
			continue
		}
		f := field{index: i, typ: declared.Type}
		f.read(string(declared.Tag))
		if f.enum == nil {
			f.enum = wordsOf(f.typ)
		}
		if f.preset == "*" {
			f.preset = strings.Join(f.enum, ",")
		}
		if f.name != "" && f.name != "-" {
			list = append(list, f)
		}
	}
	return list
}

// Declared is a map of texts by name. The names are declared elsewhere, such as by the services of chats. A field of
// such a type adds the settings to its section; the section itself is the value of a map.
type Declared interface {
	Declared() []Declaration
}

// A Declaration is the name of a setting, the form of its text, and its purpose.
type Declaration struct{ Name, Form, Doc string }

// in returns the value of f in a section.
func (f field) in(section reflect.Value) reflect.Value {
	v := section.Field(f.index)
	if f.key == "" {
		return v
	}
	if text := v.MapIndex(reflect.ValueOf(f.key)); text.IsValid() {
		return text
	}
	return reflect.Zero(f.typ)
}

// set sets the value of f in a section.
func (f field) set(section, value reflect.Value) {
	v := section.Field(f.index)
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	v.SetMapIndex(reflect.ValueOf(f.key), value)
}

// read parses the tags of a declaration in one pass. Every start reads all tags, and
// looking each up by name would take longer than everything else here.
func (f *field) read(tags string) {
	for {
		key, rest, _ := strings.Cut(strings.TrimLeft(tags, " "), ":")
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return
		}
		value, err := strconv.Unquote(quoted)
		if err != nil {
			return
		}
		f.take(key, value)
		tags = rest[len(quoted):]
	}
}

func (f *field) take(key, value string) {
	switch key {
	case "yaml":
		f.name, _, _ = strings.Cut(value, ",")
	case "doc":
		f.doc = value
	case "default":
		f.preset = value
	case "flag":
		f.flag = value
	case "flags":
		f.flags = commas(value)
	case "min":
		f.min = value
	case "max":
		f.max = value
	case "enum":
		f.enum = commas(value)
	case "form":
		f.form = value
	case "keys":
		f.keys = value
	case "required":
		f.required = value == "true"
	case "restart":
		f.restart = value == "true"
	}
}

// Words is a type of text that accepts certain words only, such as the names of the channels of a room.
type Words interface {
	// Words returns the words.
	Words() []string
}

func wordsOf(t reflect.Type) []string {
	if t.Kind() != reflect.String {
		return nil
	}
	if words, ok := reflect.Zero(t).Interface().(Words); ok {
		return words.Words()
	}
	return nil
}

func commas(words string) []string {
	if words == "" {
		return nil
	}
	return strings.Split(words, ",")
}

// item returns the declaration of one value in the list or map f.
func (f field) item() field {
	f.typ, f.preset, f.required = f.typ.Elem(), "", f.typ.Elem().Kind() == reflect.String
	return f
}

// A kind is the form of the values of a type in YAML.
type kind int

const (
	isText    kind = iota
	isWritten      // text with a syntax: durations, sizes, times
	isBool
	isWhole
	isList
	isMap
	isSection
)

func kindOf(t reflect.Type) kind {
	switch {
	case t == reflect.TypeFor[time.Duration](), reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return isWritten
	case t.Kind() == reflect.Bool:
		return isBool
	case t.Kind() == reflect.Int:
		return isWhole
	case t.Kind() == reflect.Slice:
		return isList
	case t.Kind() == reflect.Map:
		return isMap
	case t.Kind() == reflect.Struct:
		return isSection
	}
	return isText
}

// accepted describes the valid values of f.
func (f field) accepted() string {
	switch kindOf(f.typ) {
	case isBool:
		return "true or false"
	case isWhole:
		return "a whole number" + f.bounds()
	case isWritten:
		return writtenForm(f.typ).words + f.bounds()
	case isList:
		return "a list, each " + f.item().accepted()
	case isMap:
		return "a map of names, each to " + f.item().accepted()
	case isSection:
		return "a map with " + strings.Join(names(fields(f.typ)), ", ")
	}
	switch {
	case f.enum != nil:
		return "one of " + strings.Join(f.enum, ", ")
	case f.form != "":
		return formNamed(f.form).words
	}
	return "text"
}

func (f field) bounds() string {
	switch {
	case f.min != "" && f.max != "":
		return " from " + f.min + " to " + f.max
	case f.min != "":
		return ", at least " + f.min
	}
	return ""
}

func names(list []field) []string {
	var all []string
	for _, f := range list {
		all = append(all, f.name)
	}
	return all
}

// A Setting is a setting with its key in the file, its environment variable, and
// its flag, if it has one.
type Setting struct {
	Key     string // as in "limits.burst"
	Env     string // MCP_TOOLS_ and the flag, if there is one, else the key
	Flag    string // without dashes; empty if it has no flag
	Default string // in the form of a flag; empty if it has no default
	Doc     string
	Values  []string // that it accepts; nil if there are others
	Bool    bool     // as a flag it needs no value
	Restart bool     // a change counts only after a restart

	field field
	index []int
}

// appendSettings appends the settings of a section.
func (ts texts) appendSettings(all []Setting, section reflect.Type, parent Setting) []Setting {
	for _, f := range fields(section) {
		if slices.Contains(parent.field.flags, f.name) {
			f.flag = f.name
		}
		s := Setting{
			Key: join(parent.Key, f.name), Flag: f.flag, Default: f.preset,
			Doc: ts.of(section, f), Values: f.enum, Bool: kindOf(f.typ) == isBool,
			Restart: parent.Restart || f.restart,
			field:   f, index: append(slices.Clip(parent.index), f.index),
		}
		if kindOf(f.typ) == isSection {
			all = ts.appendSettings(all, f.typ, s)
			continue
		}
		s.Env = envPrefix + strings.ToUpper(envWord.Replace(cmp.Or(s.Flag, s.Key)))
		all = append(all, s)
	}
	return all
}

const envPrefix = "MCP_TOOLS_"

// envWord converts a key or a flag to a part of a variable's name.
var envWord = strings.NewReplacer(".", "_", "-", "_")

// of returns the setting's value in c, a pointer to the struct of all sections.
func (s Setting) of(c any) reflect.Value { return reflect.ValueOf(c).Elem().FieldByIndex(s.index) }

// join appends a declared name to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Under appends a name that the operator chose to a path, quoted if it could be
// mistaken for more of the path.
func Under(path, name string) string {
	if name == "" || strings.ContainsAny(name, " \t\n\f\r.\"[]") {
		name = strconv.Quote(name)
	}
	return join(path, name)
}

// Indexed appends the index of an item to the path of a list.
func Indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

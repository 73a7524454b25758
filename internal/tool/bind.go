package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
)

// Limits bound the arguments of a call before a tool sees them.
type Limits struct {
	Params int // arguments of one call
	Text   int // bytes of one string
	Items  int // entries of one array or object
	Depth  int // levels of nesting
}

// DefaultLimits are far above the arguments of real models, and bound the cost of an attack.
func DefaultLimits() Limits { return Limits{Params: 20, Text: 100 << 10, Items: 1000, Depth: 5} }

// maxProblems is the max number of mistakes that one error lists.
const maxProblems = 5

// fill decodes raw into args and corrects common mistakes of models.
func (t Tool) fill(args reflect.Value, raw json.RawMessage, limits Limits) error {
	value, err := decode(raw)
	if err != nil {
		return Errorf(Invalid, "the arguments of %s are not JSON: %v", t.Spec.Name, err).
			Try("send one JSON object")
	}
	b := binder{tool: t.Spec.Name, limits: limits, raw: raw}
	object, ok := asObject(value)
	sent := ok
	if text, bare := value.(string); bare && !ok && t.Spec.Bare != "" {
		object, ok = map[string]any{t.Spec.Bare: text}, true
	}
	switch {
	case !ok:
		b.wrong("", "the arguments", "an object", value)
	case len(object) > limits.Params:
		b.problem("there are %d arguments, the maximum is %d", len(object), limits.Params)
	default:
		b.object(args, t.form().schema, object, "", 1)
	}
	if len(b.problems) == 0 {
		return nil
	}
	wrong := Errorf(Invalid, "%s", b.text())
	if b.missing || !sent {
		return wrong.Try("%s", t.example(value))
	}
	return wrong
}

// decode reads one JSON value and keeps numbers as they were written. An empty
// text counts as an empty object.
func decode(raw json.RawMessage) (any, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || string(trimmed) == "null" {
		return map[string]any{}, nil
	}
	if _, values := Extent(raw); values > MaxValues {
		return nil, fmt.Errorf("there are more than %d values", MaxValues)
	}
	if !bytes.ContainsAny(raw, "0123456789") { // without numbers no decoder needs to be made
		var value any
		if json.Unmarshal(raw, &value) == nil {
			return value, nil
		}
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text follows the first value")
	}
	return value, nil
}

// A binder checks a value against a schema and stores it. Its paths are written as a model
// writes them, such as edits[0].old_string.
type binder struct {
	tool     string
	limits   Limits
	raw      json.RawMessage // the arguments as they were sent; nil where trail does not lead
	trail    []string        // the keys from raw to the value that is being checked
	problems []string
	missing  bool // one of the problems is a missing argument
}

func (b *binder) problem(format string, args ...any) {
	b.problems = append(b.problems, fmt.Sprintf(format, args...))
}

// wrong reports a value of the wrong type.
func (b *binder) wrong(path, what, want string, value any) {
	if path != "" {
		what = fmt.Sprintf("%q", path)
	}
	b.problem("%s must be %s, not %s", what, want, describe(value))
}

func (b *binder) text() string {
	shown := b.problems
	if len(shown) > maxProblems {
		shown = append(slices.Clone(shown[:maxProblems]),
			fmt.Sprintf("and %d more mistakes", len(b.problems)-maxProblems))
	}
	return b.tool + ": " + strings.Join(shown, "; ")
}

// value checks one value and stores it in dst.
func (b *binder) value(dst reflect.Value, s *schema, value any, path string, depth int) {
	if s.depth > 0 {
		usual := b.limits.Depth
		b.limits.Depth = s.depth
		defer func() { b.limits.Depth = usual }()
	}
	if depth > b.limits.Depth {
		b.problem("%q is nested more than %d levels deep", path, b.limits.Depth)
		return
	}
	if dst.Kind() == reflect.Pointer {
		dst.Set(reflect.New(dst.Type().Elem()))
		dst = dst.Elem()
	}
	switch s.kind {
	case kindAny:
		b.anything(dst, value, path, depth)
	case kindString:
		b.string(dst, s, value, path)
	case kindInteger, kindNumber:
		b.number(dst, s, value, path)
	case kindBoolean:
		if v, ok := asBool(value); ok {
			dst.SetBool(v)
		} else {
			b.wrong(path, "", "true or false", value)
		}
	case kindArray:
		b.array(dst, s, value, path, depth)
	case kindObject:
		if object, ok := asObject(value); !ok {
			b.wrong(path, "", "an object", value)
		} else if s.names == nil {
			b.free(dst, s, object, path, depth)
		} else {
			b.object(dst, s, object, path, depth+1)
		}
	}
}

func (b *binder) string(dst reflect.Value, s *schema, value any, path string) {
	text, ok := asString(value)
	if !ok {
		b.wrong(path, "", "a string", value)
		return
	}
	limit := b.limits.Text
	if s.maxText > 0 {
		limit = s.maxText
	}
	if len(text) > limit {
		b.problem("%q is %d bytes long, the maximum is %d", path, len(text), limit)
		return
	}
	if s.enum != nil {
		i := slices.IndexFunc(s.enum, func(one string) bool { return strings.EqualFold(one, text) })
		if i < 0 {
			b.problem("%q is %s, it must be one of %s%s", path, quote(text), strings.Join(s.enum, ", "),
				suggest(text, s.enum))
			return
		}
		text = s.enum[i]
	}
	dst.SetString(text)
}

func (b *binder) number(dst reflect.Value, s *schema, value any, path string) {
	n, ok := asNumber(value)
	if !ok || (s.kind == kindInteger && !n.whole) {
		b.wrong(path, "", map[kind]string{kindInteger: "a whole number", kindNumber: "a number"}[s.kind], value)
		return
	}
	switch {
	case s.min != nil && n.float < *s.min:
		b.problem("%q is %s, the minimum is %v", path, n.text, *s.min)
	case s.max != nil && n.float > *s.max:
		b.problem("%q is %s, the maximum is %v", path, n.text, *s.max)
	case s.kind == kindNumber:
		dst.SetFloat(n.float)
	case dst.OverflowInt(n.integer):
		b.problem("%q is %s, which is out of range", path, n.text)
	default:
		dst.SetInt(n.integer)
	}
}

func (b *binder) array(dst reflect.Value, s *schema, value any, path string, depth int) {
	items := asArray(value, s.items.kind)
	limit := b.limits.Items
	if s.maxItems > 0 {
		limit = s.maxItems
	}
	if len(items) > limit {
		b.problem("%q has %d entries, the maximum is %d", path, len(items), limit)
		return
	}
	raw := b.raw
	b.raw = nil
	defer func() { b.raw = raw }()
	list := reflect.MakeSlice(dst.Type(), len(items), len(items))
	for i, item := range items {
		b.value(list.Index(i), s.items, item, fmt.Sprintf("%s[%d]", path, i), depth+1)
	}
	dst.Set(list)
}

// free fills a map with keys that the model chooses.
func (b *binder) free(dst reflect.Value, s *schema, object map[string]any, path string, depth int) {
	if len(object) > b.limits.Items {
		b.problem("%q has %d entries, the maximum is %d", path, len(object), b.limits.Items)
		return
	}
	m := reflect.MakeMapWithSize(dst.Type(), len(object))
	for key, value := range object {
		entry := reflect.New(dst.Type().Elem()).Elem()
		b.trail = append(b.trail, key)
		b.value(entry, s.items, value, join(path, key), depth+1)
		b.trail = b.trail[:len(b.trail)-1]
		m.SetMapIndex(reflect.ValueOf(key).Convert(dst.Type().Key()), entry)
	}
	dst.Set(m)
}

// object fills a struct. A name is its own, an alias, or close to one of them.
func (b *binder) object(dst reflect.Value, s *schema, object map[string]any, path string, depth int) {
	given := make([]string, len(s.fields)) // the name of each field in the request
	var unknown []string
	for _, key := range sortedKeys(object) {
		i, ok := s.find(key)
		if _, isList := object[key].([]any); ok && isList && s.fields[i].list != "" {
			i, ok = s.find(s.fields[i].list)
		}
		if !ok {
			if near := suggest(key, s.fieldNames()); near != "" {
				b.problem("there is no argument %s%s", quote(join(path, key)), near)
			} else {
				unknown = append(unknown, quote(join(path, key)))
			}
			continue
		}
		if object[key] == nil && !s.fields[i].required {
			continue // many clients send null for an argument that they leave out
		}
		if given[i] != "" {
			b.problem("%q and %q are the same argument; send one", given[i], key)
			continue
		}
		given[i] = key
		f := s.fields[i]
		b.trail = append(b.trail, key)
		b.value(dst.FieldByIndex(f.index), f.schema, object[key], join(path, f.name), depth)
		b.trail = b.trail[:len(b.trail)-1]
	}
	if len(unknown) > 0 {
		b.problem("there is no argument %s%s", strings.Join(unknown, ", "), meant("", s.fieldNames()))
	}
	for i, f := range s.fields {
		switch {
		case given[i] != "":
		case f.schema.fallback != nil:
			b.trail = append(b.trail, f.name)
			b.value(dst.FieldByIndex(f.index), f.schema, f.schema.fallback, join(path, f.name), depth)
			b.trail = b.trail[:len(b.trail)-1]
		case f.required:
			b.problem("%q is missing", join(path, f.name))
			b.missing = true
		}
	}
}

// anything stores a value of any shape, within the limits.
func (b *binder) anything(dst reflect.Value, value any, path string, depth int) {
	if why := b.excess(value, depth); why != "" {
		b.problem("%q %s", path, why)
		return
	}
	if dst.Kind() == reflect.Interface {
		if value != nil {
			dst.Set(reflect.ValueOf(value))
		}
		return
	}
	raw := b.sent()
	if raw == nil {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			b.problem("%q cannot be used", path)
			return
		}
	}
	dst.SetBytes(raw)
}

// sent returns the value that is being checked as it was sent, with the keys of its objects in
// their order: the order of the data of a chart means something. It returns nil if the value is
// not in the arguments, such as a default.
func (b *binder) sent() json.RawMessage {
	raw := b.raw
	for _, key := range b.trail {
		var text string
		if json.Unmarshal(raw, &text) == nil { // an object in a string
			raw = json.RawMessage(text)
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return nil
		}
		raw = members[key]
	}
	return raw
}

// excess returns the limit that a free value exceeds, or "".
func (b *binder) excess(value any, depth int) string {
	if depth > b.limits.Depth {
		return fmt.Sprintf("is nested more than %d levels deep", b.limits.Depth)
	}
	switch v := value.(type) {
	case string:
		if len(v) > b.limits.Text {
			return fmt.Sprintf("holds %d bytes of text, the maximum is %d", len(v), b.limits.Text)
		}
	case []any:
		if len(v) > b.limits.Items {
			return fmt.Sprintf("has %d entries, the maximum is %d", len(v), b.limits.Items)
		}
		for _, item := range v {
			if why := b.excess(item, depth+1); why != "" {
				return why
			}
		}
	case map[string]any:
		if len(v) > b.limits.Items {
			return fmt.Sprintf("has %d entries, the maximum is %d", len(v), b.limits.Items)
		}
		for _, item := range v {
			if why := b.excess(item, depth+1); why != "" {
				return why
			}
		}
	}
	return ""
}

// Extent returns how deep a JSON text is nested and about how many values it
// holds, without decoding it. A value of two bytes takes a hundred when it is
// decoded, so texts from outside are measured first. A text that is not JSON
// has an extent, too.
func Extent(raw []byte) (depth, values int) {
	now, inString := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == ',':
			values++
		case c == '{' || c == '[':
			values++
			now++
			depth = max(depth, now)
		case c == '}' || c == ']':
			now--
		}
	}
	return depth, values
}

// MaxValues is the max number of values in a message, and so in a text that is
// sent in place of an object or a list. It bounds memory, and is far above the
// limits of arguments.
const MaxValues = 50_000

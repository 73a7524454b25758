package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// This file corrects the mistakes that models typically make in arguments, if
// only one thing can have been meant. All other mistakes are errors that say how
// to do it right.

// asObject returns value as an object. value may be a string with one.
func asObject(value any) (map[string]any, bool) {
	if text, ok := value.(string); ok {
		value = parsed(text)
	}
	object, ok := value.(map[string]any)
	return object, ok
}

// asArray returns value as an array. value may be a string with one; another value becomes an
// array of one.
func asArray(value any, items kind) []any {
	if list, ok := value.([]any); ok {
		return list
	}
	if text, ok := value.(string); ok {
		if list, ok := parsed(text).([]any); ok {
			return list
		}
		if text == "" && items != kindString {
			return nil
		}
	}
	return []any{value}
}

// parsed returns the JSON value in text, or nil.
func parsed(text string) any {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") && !strings.HasPrefix(text, "[") {
		return nil
	}
	value, err := decode(json.RawMessage(text))
	if err != nil {
		return nil
	}
	return value
}

// asString returns a string, or the text of a number or boolean.
func asString(value any) (string, bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case json.Number:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	}
	return "", false
}

// asBool returns value as a boolean. value may be a string with one.
func asBool(value any) (result, ok bool) {
	switch v := value.(type) {
	case bool:
		return v, true
	case string:
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	return false, false
}

type number struct {
	text    string
	float   float64
	integer int64
	whole   bool
}

// asNumber returns value as a number. value may be a string with one. 42.0 is whole.
func asNumber(value any) (number, bool) {
	n := number{}
	switch v := value.(type) {
	case json.Number:
		n.text = v.String()
	case float64: // a default
		n.text = strconv.FormatFloat(v, 'f', -1, 64)
	case string:
		n.text = strings.TrimSpace(v)
	default:
		return n, false
	}
	if integer, err := strconv.ParseInt(n.text, 10, 64); err == nil {
		return number{text: n.text, float: float64(integer), integer: integer, whole: true}, true
	}
	float, err := strconv.ParseFloat(n.text, 64)
	if err != nil || math.IsInf(float, 0) || math.IsNaN(float) {
		return n, false
	}
	n.float = float
	if float == math.Trunc(float) && math.Abs(float) < 1<<53 {
		n.integer, n.whole = int64(float), true
	}
	return n, true
}

// withMeaning adds the arguments that the called name of the tool implies. It leaves arguments
// that are not an object to Bind; Bind refuses them.
func (t Tool) withMeaning(raw json.RawMessage) json.RawMessage {
	if t.means == "" {
		return raw
	}
	value, err := decode(raw)
	if _, ok := asObject(value); err != nil || !ok {
		return raw
	}
	if text, ok := value.(string); ok {
		raw = json.RawMessage(text)
	}
	var object, more map[string]json.RawMessage // values that were sent stay
	if len(bytes.TrimSpace(raw)) > 0 && json.Unmarshal(raw, &object) != nil ||
		json.Unmarshal([]byte(t.means), &more) != nil {
		return raw
	}
	if object == nil {
		object = map[string]json.RawMessage{}
	}
	for name, value := range more {
		if _, given := object[name]; !given {
			object[name] = value
		}
	}
	whole, err := json.Marshal(object)
	if err != nil {
		return raw
	}
	return whole
}

// find resolves a name: the name of a parameter, an alias, or either of them in another case or
// with other word separators.
func (s *schema) find(name string) (int, bool) {
	for _, known := range s.names {
		if known.name == name {
			return known.index, true
		}
	}
	folded, found := fold(name), -1
	for _, known := range s.names {
		if fold(known.name) != folded {
			continue
		}
		if found >= 0 && found != known.index {
			return 0, false // two could have been meant
		}
		found = known.index
	}
	return found, found >= 0
}

// fold removes the differences that models confuse in names: case and word separators.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "", ".", "").Replace(name))
}

// fieldNames returns the names of the parameters that are shown.
func (s *schema) fieldNames() []string {
	var names []string
	for _, f := range s.fields {
		if !f.hidden {
			names = append(names, f.name)
		}
	}
	return names
}

// meant suggests the nearest of the accepted names, or lists all of them.
func meant(name string, accepted []string) string {
	if suggestion := suggest(name, accepted); suggestion != "" {
		return suggestion
	}
	if len(accepted) == 0 {
		return "; the tool takes none"
	}
	return "; it takes " + strings.Join(accepted, ", ")
}

func suggest(name string, accepted []string) string {
	if nearest := Nearest(name, accepted); nearest != "" {
		return fmt.Sprintf(" (did you mean %q?)", nearest)
	}
	return ""
}

// example shows the minimal arguments of a call, and reports if none were sent:
// models that send {} again and again need to see both.
func (t Tool) example(value any) string {
	var required []string
	for _, f := range t.form().schema.fields {
		if f.required {
			required = append(required, strconv.Quote(f.name)+`:"..."`)
		}
	}
	least := "send at least {" + strings.Join(required, ",") + "}"
	if object, ok := value.(map[string]any); ok && len(object) == 0 {
		return "the arguments were empty; " + least
	}
	if required == nil {
		return "all arguments are optional"
	}
	return least
}

// describe names a value so that the model recognises it.
func describe(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case string:
		return "the string " + quote(v)
	case json.Number:
		return "the number " + v.String()
	case bool:
		return strconv.FormatBool(v)
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	}
	return "an object"
}

// quote returns text in quotation marks, cut to a bounded length. It cuts between
// words: the text may hold a credential, and the scrubber would not recognise
// half of one.
func quote(text string) string {
	const most = 60
	if len(text) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(text[:max(strings.LastIndexAny(text[:most], " \t\r\n"), 0)]) + "..."
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedKeys(object map[string]any) []string {
	return slices.Sorted(maps.Keys(object))
}

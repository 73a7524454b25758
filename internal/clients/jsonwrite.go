package clients

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
)

// rawJSON is a scalar as it is in the file.
type rawJSON string

// decode converts a node to a value that a jsonWriter can write: fields, a []any, a
// string or a rawJSON.
func (d *jsonDoc) decode(n jsonNode) any {
	switch n.kind {
	case '{':
		out := make(fields, 0, len(n.members))
		for _, m := range n.members {
			out = append(out, field{m.name, d.decode(m.value)})
		}
		return out
	case '[':
		out := make([]any, 0, len(n.items))
		for _, item := range n.items {
			out = append(out, d.decode(item))
		}
		return out
	case '"':
		return unquote(n.of(d.src))
	}
	return rawJSON(n.of(d.src))
}

// simplify makes values comparable: without the order of keys, and with one type
// for lists of strings.
func simplify(v any) any {
	switch v := v.(type) {
	case fields:
		out := make(map[string]any, len(v))
		for _, f := range v {
			out[f.key] = simplify(f.value)
		}
		return out
	case []string:
		out := make([]any, 0, len(v))
		for _, s := range v {
			out = append(out, s)
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, item := range v {
			out = append(out, simplify(item))
		}
		return out
	}
	return v
}

// A jsonWriter writes values in the style of a file.
type jsonWriter struct {
	unit    string // one step of indentation
	newline string
	indent  string // of the line that the value begins on
	inline  bool   // all on one line
}

// writer returns a writer with the style of the file: the line end of its first
// line, and the indentation of the first member on its own line.
func (d *jsonDoc) writer() jsonWriter {
	w := jsonWriter{unit: "  ", newline: newlineOf(d.src)}
	if d.root == nil {
		return w
	}
	outer, _ := d.indent(d.root.start)
	for _, m := range d.root.members {
		inner, ok := d.indent(m.key.start)
		if step, deeper := strings.CutPrefix(inner, outer); ok && deeper && step != "" {
			w.unit = step
			break
		}
	}
	return w
}

// newlineOf returns the line end of the first line of a file.
func newlineOf(src []byte) string {
	if n := bytes.IndexByte(src, '\n'); n > 0 && src[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

func (w jsonWriter) text(v any) string {
	switch v := v.(type) {
	case fields:
		items := make([]string, len(v))
		for i, f := range v {
			items[i] = w.deeper().member(f)
		}
		return w.group("{", items, "}", false)
	case []string:
		return w.text(simplify(v))
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			items[i] = w.deeper().text(item)
		}
		return w.group("[", items, "]", !slices.ContainsFunc(v, nested))
	case string:
		return quote(v)
	case rawJSON:
		return string(v)
	}
	return "null" // there are no other values
}

func nested(v any) bool {
	switch v.(type) {
	case fields, []any:
		return true
	}
	return false
}

func (w jsonWriter) member(f field) string { return quote(f.key) + ": " + w.text(f.value) }

func (w jsonWriter) deeper() jsonWriter {
	w.indent += w.unit
	return w
}

func (w jsonWriter) group(open string, items []string, end string, short bool) string {
	if len(items) == 0 || short || w.inline {
		return open + strings.Join(items, ", ") + end
	}
	inner := w.newline + w.indent + w.unit
	return open + inner + strings.Join(items, ","+inner) + w.newline + w.indent + end
}

// quote writes a string without escapes for "<" and "&".
func quote(s string) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		return `""` // a string always encodes
	}
	return strings.TrimSuffix(b.String(), "\n")
}

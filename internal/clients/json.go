package clients

import (
	"bytes"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// jsonFile is the format of JSON settings files with an object of servers at the top
// level. Comments and commas at the end are allowed and stay.
type jsonFile struct{ container string }

var bom = []byte("\xef\xbb\xbf")

// A jsonDoc is a parsed settings file.
type jsonDoc struct {
	src     []byte
	root    hujson.Value
	members *hujson.Object // of root
	unit    string         // one step of indentation
	newline string
}

// maxNodes is the max number of objects and arrays in a file. It limits the recursion of the
// parser.
const maxNodes = 1 << 20

// parseJSON parses src. A file without a value gets an empty object.
func parseJSON(src []byte) (*jsonDoc, error) {
	if bytes.Count(src, []byte("{"))+bytes.Count(src, []byte("[")) > maxNodes {
		return nil, syntaxError(src, 0, "the file has too many objects and lists")
	}
	d := &jsonDoc{src: src, unit: "  ", newline: newlineOf(src)}
	// The parser knows no byte order mark, and needs a line end after a comment.
	text := append(slices.Clone(src), '\n')
	if bytes.HasPrefix(text, bom) {
		copy(text, "   ")
	}
	var err error
	switch d.root, err = hujson.Parse(text); {
	case err != nil && d.root.StartOffset == len(text): // only white space and comments
		d.root = d.empty(d.root.BeforeExtra)
	case err != nil:
		return nil, complain(src, text, err)
	}
	var ok bool
	if d.members, ok = d.root.Value.(*hujson.Object); !ok {
		return nil, syntaxError(src, d.root.StartOffset, "the settings should be an object in braces")
	}
	for _, m := range d.members.Members {
		if indent, ok := indentIn(m.Name.BeforeExtra); ok && indent != "" {
			d.unit = indent
			break
		}
	}
	return d, nil
}

// empty returns an empty object below the comments of a file.
func (d *jsonDoc) empty(comments hujson.Extra) hujson.Value {
	head := comments[:commentEnd(comments)]
	switch {
	case len(head) > 0 && !bytes.HasSuffix(head, []byte("\n")):
		head = append(slices.Clone(head), d.newline...)
	case len(head) == 0 && bytes.HasPrefix(d.src, bom):
		head = hujson.Extra("   ")
	}
	return hujson.Value{BeforeExtra: head, Value: &hujson.Object{}, AfterExtra: hujson.Extra(d.newline + "\n")}
}

// bytes returns the file.
func (d *jsonDoc) bytes() []byte {
	out := d.root.Pack()
	out = out[:len(out)-1] // the line end that was added
	if bytes.HasPrefix(d.src, bom) {
		copy(out, bom)
	}
	return out
}

var hujsonError = text.Pattern(`(?s)^hujson: line ([0-9]+), column ([0-9]+): (.*)$`)

// complain converts an error of the parser in text. Its columns count bytes.
func complain(src, text []byte, err error) error {
	found := hujsonError().FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	line, _ := strconv.Atoi(found[1])
	column, _ := strconv.Atoi(found[2])
	start := 0
	for range line - 1 {
		start += bytes.IndexByte(text[start:], '\n') + 1
	}
	message := found[3]
	switch {
	case message == "parsing comment: unexpected EOF":
		message = "this comment does not end"
	case strings.HasSuffix(message, "unexpected EOF"):
		message = "unexpected end of the file"
	case strings.HasPrefix(message, "invalid literal"): // with the text; it may be long
		message = "invalid value"
	}
	return syntaxError(src, start+column-1, "%s", message)
}

// find parses src and returns the object of servers and the index of the named one in
// it. Without the object it is nil, without the entry the index is -1.
func (f jsonFile) find(src []byte, name string) (d *jsonDoc, servers *hujson.Object, index int, err error) {
	if d, err = parseJSON(src); err != nil {
		return nil, nil, -1, err
	}
	at, err := d.only(d.members, f.container)
	if at < 0 || err != nil {
		return d, nil, -1, err
	}
	value := d.members.Members[at].Value
	servers, ok := value.Value.(*hujson.Object)
	if !ok {
		return d, nil, -1, syntaxError(src, value.StartOffset, "%q should be an object in braces", f.container)
	}
	index, err = d.only(servers, name)
	return d, servers, index, err
}

// only returns the index of the member with that name, or -1. Two of them are an error, since
// programs differ in their choice.
func (d *jsonDoc) only(object *hujson.Object, name string) (int, error) {
	found := -1
	for i, m := range object.Members {
		if nameOf(m) != name {
			continue
		}
		if found >= 0 {
			return -1, syntaxError(d.src, m.Name.StartOffset, "%q occurs twice; keep one", name)
		}
		found = i
	}
	return found, nil
}

func nameOf(m hujson.ObjectMember) string {
	name, _ := m.Name.Value.(hujson.Literal)
	return name.String()
}

func (f jsonFile) entry(src []byte, name string) (string, error) {
	_, servers, i, err := f.find(src, name)
	if err != nil || i < 0 {
		return "", err
	}
	value := servers.Members[i].Value
	return string(src[value.StartOffset:value.EndOffset]), nil
}

func (f jsonFile) set(src []byte, name string, want fields, owned func(string) bool) ([]byte, error) {
	d, servers, i, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	switch {
	case servers == nil:
		d.add(d.members, "", false, field{f.container, fields{{name, want}}})
		return d.bytes(), nil
	case i < 0:
		at, _ := d.only(d.members, f.container)
		outer, _ := indentIn(d.members.Members[at].Name.BeforeExtra)
		d.add(servers, outer, false, field{name, want})
		return d.bytes(), nil
	}
	if holds(servers.Members[i].Value, want, owned) {
		return src, nil
	}
	outer, ownLine := indentIn(servers.Members[i].Name.BeforeExtra)
	l := layout{d.unit, d.newline, !ownLine}
	value := &servers.Members[i].Value
	entry, ok := value.Value.(*hujson.Object)
	if !ok {
		value.Value = l.value(want, outer).Value
		return d.bytes(), nil
	}
	for i := len(entry.Members) - 1; i >= 0; i-- {
		if key := nameOf(entry.Members[i]); owned(key) && !want.has(key) {
			cut(entry, i)
		}
	}
	for _, w := range want {
		at, err := d.only(entry, w.key)
		if err != nil {
			return nil, err
		}
		if made := l.value(w.value, outer+d.unit); at < 0 {
			d.add(entry, outer, !ownLine, w)
		} else if !owned(w.key) {
			continue
		} else if old := &entry.Members[at].Value; !reflect.DeepEqual(decoded(*old), decoded(made)) {
			old.Value = made.Value
		}
	}
	return d.bytes(), nil
}

// holds reports whether the owned keys of an entry have the wanted values.
func holds(entry hujson.Value, want fields, owned func(string) bool) bool {
	have, ok := decoded(entry).(map[string]any)
	for _, w := range want {
		if _, there := have[w.key]; !there {
			return false
		}
	}
	maps.DeleteFunc(have, func(key string, _ any) bool { return !owned(key) })
	return ok && reflect.DeepEqual(have, decoded(layout{}.value(want.only(owned), "")))
}

// decoded returns a value as encoding/json decodes it.
func decoded(v hujson.Value) (out any) {
	v = v.Clone()
	v.Minimize()
	if json.Unmarshal(v.Pack(), &out) != nil {
		return nil // a text that is not Unicode: it differs from everything
	}
	return out
}

// add appends a member to an object, in the layout of its last member. In an empty
// object that begins on a line with the indentation outer, inline decides.
func (d *jsonDoc) add(object *hujson.Object, outer string, inline bool, member field) {
	made := hujson.ObjectMember{Name: hujson.Value{Value: literal(member.key)}}
	l, indent := layout{d.unit, d.newline, inline}, outer+d.unit
	if n := len(object.Members); n == 0 && !inline {
		comments := object.AfterExtra[:commentEnd(object.AfterExtra)]
		made.Name.BeforeExtra = join(comments, hujson.Extra(d.newline+indent))
		object.AfterExtra = hujson.Extra(d.newline + outer)
	} else if n > 0 {
		last := object.Members[n-1]
		var ownLine bool
		if indent, ownLine = indentIn(last.Name.BeforeExtra); ownLine {
			tail := sameLine(object.AfterExtra)
			made.Name.BeforeExtra = slices.Concat(object.AfterExtra[:tail], hujson.Extra(d.newline+indent))
			object.AfterExtra = object.AfterExtra[tail:]
			l.inline = false
		} else {
			l.inline, made.Name.BeforeExtra = true, hujson.Extra(" ")
		}
		if last.Value.AfterExtra != nil { // a comma at the end
			made.Value.AfterExtra = hujson.Extra{}
		}
	}
	made.Value.BeforeExtra, made.Value.Value = hujson.Extra(" "), l.value(member.value, indent).Value
	object.Members = append(object.Members, made)
}

func (f jsonFile) remove(src []byte, name string) ([]byte, error) {
	d, servers, i, err := f.find(src, name)
	if err != nil || i < 0 {
		return src, err
	}
	cut(servers, i)
	return d.bytes(), nil
}

// cut removes a member. Comments around it stay, since they may be about something else.
func cut(object *hujson.Object, i int) {
	m := object.Members[i]
	kept := join(m.Name.BeforeExtra[:commentEnd(m.Name.BeforeExtra)],
		m.Value.AfterExtra[:commentEnd(m.Value.AfterExtra)])
	if i < len(object.Members)-1 {
		next := &object.Members[i+1].Name
		if len(kept) > 0 || commentEnd(next.BeforeExtra) > 0 {
			next.BeforeExtra = join(kept, next.BeforeExtra)
		} else {
			next.BeforeExtra = m.Name.BeforeExtra
		}
	} else {
		if i > 0 && m.Value.AfterExtra == nil { // without a comma at the end
			before := &object.Members[i-1].Value
			kept = join(before.AfterExtra[:commentEnd(before.AfterExtra)], kept)
			before.AfterExtra = nil
		} else if i > 0 {
			before := &object.Members[i-1].Value
			before.AfterExtra = append(hujson.Extra{}, before.AfterExtra...) // not nil: the comma stays
		}
		object.AfterExtra = join(kept, object.AfterExtra)
		if i == 0 && commentEnd(object.AfterExtra) == 0 {
			object.AfterExtra = nil
		}
	}
	object.Members = slices.Delete(object.Members, i, i+1)
}

func (f jsonFile) rest(src []byte, name string) ([]string, error) {
	d, servers, i, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	if i >= 0 {
		ours := &servers.Members[i]
		ours.Name.AfterExtra = nil
		ours.Value = hujson.Value{Value: hujson.Literal("0"), AfterExtra: ours.Value.AfterExtra}
	}
	var out []string
	for v := range d.root.All() {
		out = append(append(out, comments(v.BeforeExtra)...), comments(v.AfterExtra)...)
		switch inner := v.Value.(type) {
		case *hujson.Object:
			out = append(out, comments(inner.AfterExtra)...)
		case *hujson.Array:
			out = append(out, comments(inner.AfterExtra)...)
		}
	}
	slices.Sort(out) // a comment can move to another value
	if i >= 0 {
		servers.Members = slices.Delete(servers.Members, i, i+1)
	}
	d.members.Members = slices.DeleteFunc(d.members.Members, func(m hujson.ObjectMember) bool {
		return m.Value.Value == servers && len(servers.Members) == 0
	})
	if len(d.members.Members) > 0 {
		d.root.Minimize()
		out = append(out, d.root.String())
	}
	return out, nil
}

// comments returns the comments in the space around values.
func comments(extra hujson.Extra) (out []string) {
	for len(extra) > 0 {
		size := commentSize(extra)
		if size > 0 {
			out = append(out, strings.TrimRight(string(extra[:size]), "\r\n"))
		}
		extra = extra[max(size, 1):]
	}
	return out
}

// commentSize returns the size of the comment at the start of text, with the line end
// of a line comment, or 0.
func commentSize(text []byte) int {
	switch {
	case bytes.HasPrefix(text, []byte("//")):
		return bytes.IndexByte(text, '\n') + 1
	case bytes.HasPrefix(text, []byte("/*")):
		return bytes.Index(text[2:], []byte("*/")) + 4
	}
	return 0
}

// commentEnd returns the offset after the last comment.
func commentEnd(extra hujson.Extra) (end int) {
	for at := 0; at < len(extra); {
		size := commentSize(extra[at:])
		at += max(size, 1)
		if size > 0 {
			end = at
		}
	}
	return end
}

// sameLine returns the offset after the last comment on the first line. The comment belongs to
// the value before it.
func sameLine(extra hujson.Extra) (end int) {
	for at := 0; at < len(extra); {
		size := commentSize(extra[at:])
		comment := bytes.TrimRight(extra[at:at+size], "\r\n")
		switch {
		case size > 0 && !bytes.Contains(comment, []byte("\n")):
			end = at + len(comment)
			if comment[1] == '/' {
				return end
			}
		case extra[at] != ' ' && extra[at] != '\t':
			return end
		}
		at += max(size, 1)
	}
	return end
}

// join puts one piece of space and comments behind another. A line end that both have
// is there once.
func join(a, b hujson.Extra) hujson.Extra {
	if bytes.HasPrefix(b, []byte("\n")) || bytes.HasPrefix(b, []byte("\r\n")) {
		a = bytes.TrimSuffix(bytes.TrimSuffix(a, []byte("\n")), []byte("\r"))
	}
	return slices.Concat(a, b)
}

// indentIn returns the white space before a value on its line, and whether the value
// is the first on it.
func indentIn(extra hujson.Extra) (string, bool) {
	line := bytes.LastIndexByte(extra, '\n')
	blank := string(extra[line+1:])
	return blank, line >= 0 && strings.Trim(blank, " \t") == ""
}

// newlineOf returns the line end of the first line of a file.
func newlineOf(src []byte) string {
	if n := bytes.IndexByte(src, '\n'); n > 0 && src[n-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// A layout is how values are written.
type layout struct {
	unit    string // one step of indentation
	newline string
	inline  bool // all on one line
}

// value returns a value of our entries on a line with an indentation: text, lists of text,
// numbers, booleans, and nested fields.
func (l layout) value(v any, indent string) hujson.Value {
	switch v := v.(type) {
	case fields:
		object := &hujson.Object{}
		for i, f := range v {
			before := l.newline + indent + l.unit
			if l.inline {
				before = strings.Repeat(" ", min(i, 1))
			}
			value := l.value(f.value, indent+l.unit)
			value.BeforeExtra = hujson.Extra(" ")
			object.Members = append(object.Members, hujson.ObjectMember{
				Name: hujson.Value{BeforeExtra: hujson.Extra(before), Value: literal(f.key)}, Value: value,
			})
		}
		if len(v) > 0 && !l.inline {
			object.AfterExtra = hujson.Extra(l.newline + indent)
		}
		return hujson.Value{Value: object}
	case []string:
		list := &hujson.Array{}
		for i, text := range v {
			before := hujson.Extra(strings.Repeat(" ", min(i, 1)))
			list.Elements = append(list.Elements, hujson.Value{BeforeExtra: before, Value: literal(text)})
		}
		return hujson.Value{Value: list}
	case string:
		return hujson.Value{Value: literal(v)}
	case bool:
		return hujson.Value{Value: hujson.Bool(v)}
	case int:
		return hujson.Value{Value: hujson.Int(int64(v))}
	}
	return hujson.Value{Value: hujson.Literal("null")} // there are no other values
}

// literal returns a string, without escapes for "<" and "&".
func literal(s string) hujson.Literal {
	written, err := text.JSON(s)
	if err != nil {
		return hujson.Literal(`""`) // a string always encodes
	}
	return written
}

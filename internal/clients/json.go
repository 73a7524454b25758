package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"

	"github.com/mcp-tools/mcp-tools/internal/lazyregexp"
)

// jsonFile is the format of JSON settings files with an object of servers at the top
// level.
type jsonFile struct{ container string }

var bom = []byte("\xef\xbb\xbf")

const jsonSpace = " \t\r\n" // white space of JSON

// A span is a part of a file, from the first byte to the one after the last.
type span struct{ start, end int }

func (s span) of(src []byte) string { return string(src[s.start:s.end]) }
func (s span) holds(o span) bool    { return s.start <= o.start && o.end <= s.end }

// A jsonDoc is a parsed JSON file with comments and trailing commas, with the
// offsets of everything.
type jsonDoc struct {
	src      []byte
	comments []span    // in order
	root     *jsonNode // nil if there are only white space and comments
}

// A jsonNode is a value: an object with members, an array with items, or a
// scalar with neither.
type jsonNode struct {
	span
	kind    byte // first byte of the value
	members []jsonMember
	items   []jsonNode
}

// A jsonMember is a key of an object with its value.
type jsonMember struct {
	name  string // the key with its escapes resolved
	key   span
	value jsonNode
	comma int // offset of the comma after it, or -1
}

// maxNodes is the max number of objects and arrays in a file, which limits the
// recursion of the parser.
const maxNodes = 1 << 20

// parseJSON parses src. Comments, trailing commas and a byte order mark are allowed.
func parseJSON(src []byte) (*jsonDoc, error) {
	if bytes.Count(src, []byte("{"))+bytes.Count(src, []byte("[")) > maxNodes {
		return nil, syntaxError(src, 0, "the file has too many objects and lists")
	}
	d := &jsonDoc{src: src}
	// The parser knows no byte order mark, and needs a line end after a comment.
	text := append(slices.Clone(src), '\n')
	if bytes.HasPrefix(text, bom) {
		copy(text, "   ")
	}
	value, err := hujson.Parse(text)
	d.addComments(value.StartOffset, value.BeforeExtra)
	switch {
	case err != nil && value.StartOffset == len(text): // only white space and comments
		return d, nil
	case err != nil:
		return nil, complain(src, text, err)
	}
	root := d.node(value)
	d.addComments(value.EndOffset+len(value.AfterExtra), value.AfterExtra)
	d.root = &root
	if root.kind != '{' {
		return nil, syntaxError(src, root.start, "the settings should be an object in braces")
	}
	return d, nil
}

var hujsonError = lazyregexp.New(`(?s)^hujson: line ([0-9]+), column ([0-9]+): (.*)$`)

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
	case strings.HasPrefix(message, "invalid literal"): // with the text, which may be long
		message = "invalid value"
	}
	return syntaxError(src, start+column-1, "%s", message)
}

// addComments adds the comments in the white space that ends at an offset.
func (d *jsonDoc) addComments(end int, extra hujson.Extra) {
	at := end - len(extra)
	for len(extra) > 0 {
		size := 1
		switch {
		case bytes.HasPrefix(extra, []byte("//")):
			size = bytes.IndexByte(extra, '\n') + 1
			text := bytes.TrimRight(extra[:size], "\r\n")
			d.comments = append(d.comments, span{at, at + len(text)})
		case bytes.HasPrefix(extra, []byte("/*")):
			size = bytes.Index(extra[2:], []byte("*/")) + 4
			d.comments = append(d.comments, span{at, at + size})
		}
		at, extra = at+size, extra[size:]
	}
}

// node converts a value.
func (d *jsonDoc) node(v hujson.Value) jsonNode {
	n := jsonNode{kind: byte(v.Value.Kind()), span: span{v.StartOffset, v.EndOffset}}
	switch value := v.Value.(type) {
	case *hujson.Object:
		for i, m := range value.Members {
			d.addComments(m.Name.StartOffset, m.Name.BeforeExtra)
			d.addComments(m.Name.EndOffset+len(m.Name.AfterExtra), m.Name.AfterExtra)
			d.addComments(m.Value.StartOffset, m.Value.BeforeExtra)
			key := span{m.Name.StartOffset, m.Name.EndOffset}
			member := jsonMember{name: unquote(key.of(d.src)), key: key, value: d.node(m.Value), comma: -1}
			// Without a trailing comma, the last value has no AfterExtra.
			if i < len(value.Members)-1 || m.Value.AfterExtra != nil {
				end := m.Value.EndOffset + len(m.Value.AfterExtra)
				d.addComments(end, m.Value.AfterExtra)
				member.comma = end
			}
			n.members = append(n.members, member)
		}
		d.addComments(v.EndOffset-1, value.AfterExtra)
	case *hujson.Array:
		for _, item := range value.Elements {
			d.addComments(item.StartOffset, item.BeforeExtra)
			n.items = append(n.items, d.node(item))
			d.addComments(item.EndOffset+len(item.AfterExtra), item.AfterExtra)
		}
		d.addComments(v.EndOffset-1, value.AfterExtra)
	}
	return n
}

// unquote returns the value of a valid string.
func unquote(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

// An edit replaces a span by text.
type edit struct {
	span
	text string
}

// splice applies edits that do not overlap.
func splice(src []byte, edits ...edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(src[at:e.start])
		out.WriteString(e.text)
		at = e.end
	}
	out.Write(src[at:])
	return out.Bytes()
}

// find parses src and returns the object of servers and the index of the named one in
// it. Without the object it is nil, without the entry the index is -1.
func (f jsonFile) find(src []byte, name string) (d *jsonDoc, servers *jsonNode, index int, err error) {
	if d, err = parseJSON(src); err != nil || d.root == nil {
		return d, nil, -1, err
	}
	at, err := d.only(d.root, f.container)
	if at < 0 || err != nil {
		return d, nil, -1, err
	}
	servers = &d.root.members[at].value
	if servers.kind != '{' {
		return d, nil, -1, syntaxError(d.src, servers.start, "%q should be an object in braces", f.container)
	}
	index, err = d.only(servers, name)
	return d, servers, index, err
}

// only returns the index of the member with that name, or -1. Two of them are an
// error, since programs differ on which one they use.
func (d *jsonDoc) only(object *jsonNode, name string) (int, error) {
	found := -1
	for i, m := range object.members {
		if m.name != name {
			continue
		}
		if found >= 0 {
			return -1, syntaxError(d.src, m.key.start, "%q is here a second time; keep one", name)
		}
		found = i
	}
	return found, nil
}

func (f jsonFile) entry(src []byte, name string) (string, error) {
	_, servers, i, err := f.find(src, name)
	if err != nil || i < 0 {
		return "", err
	}
	return servers.members[i].value.of(src), nil
}

func (f jsonFile) set(src []byte, name string, want fields, owned func(string) bool) ([]byte, error) {
	d, servers, i, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return f.insert(d, servers, name, want), nil
	}
	old := servers.members[i]
	had, _ := d.decode(old.value).(fields)
	var mine, kept fields
	for _, have := range had {
		if owned(have.key) {
			mine = append(mine, have)
		} else {
			kept = append(kept, have)
		}
	}
	if old.value.kind == '{' && reflect.DeepEqual(simplify(mine), simplify(want)) {
		return src, nil
	}
	w := d.writer()
	if indent, ok := d.indent(old.key.start); ok {
		w.indent = indent
	} else {
		w.inline = !bytes.ContainsRune(src[old.value.start:old.value.end], '\n')
	}
	return splice(src, edit{old.value.span, w.text(slices.Concat(want, kept))}), nil
}

func (f jsonFile) graft(src, from []byte, name string) ([]byte, error) {
	donor, servers, i, err := f.find(from, name)
	if err != nil {
		return nil, err
	}
	if i < 0 {
		return nil, fmt.Errorf("no entry %q to take over", name)
	}
	want, ok := donor.decode(servers.members[i].value).(fields)
	if !ok {
		return nil, fmt.Errorf("the entry %q is not an object", name)
	}
	return f.set(src, name, want, func(string) bool { return true })
}

// insert adds the entry, and what is missing around it.
func (f jsonFile) insert(d *jsonDoc, servers *jsonNode, name string, want fields) []byte {
	member := field{name, want}
	switch {
	case servers != nil:
		return d.add(servers, member)
	case d.root != nil:
		return d.add(d.root, field{f.container, fields{member}})
	}
	w := d.writer()
	head := d.src[:d.contentEnd(len(d.src))]
	out := slices.Clone(head)
	if len(head) > 0 && !bytes.Equal(head, bom) { // comments only: keep them on top
		out = append(out, w.newline...)
	}
	return append(out, w.text(fields{{f.container, fields{member}}})+w.newline...)
}

// add appends a member to an object, in the object's style.
func (d *jsonDoc) add(object *jsonNode, member field) []byte {
	w := d.writer()
	outer, _ := d.indent(object.start)
	if len(object.members) == 0 {
		at := d.contentEnd(object.end - 1)
		w.indent = outer + w.unit
		return splice(d.src, edit{
			span{at, object.end - 1}, w.newline + w.indent + w.member(member) + w.newline + outer,
		})
	}
	last := object.members[len(object.members)-1]
	tail, comma := last.value.end, ","
	edits := []edit{{span{tail, tail}, ","}}
	if last.comma >= 0 {
		tail, edits = last.comma+1, nil
	} else {
		comma = ""
	}
	indent, ok := d.indent(last.key.start)
	if !ok {
		w.inline = true
		return splice(d.src, append(edits, edit{span{tail, tail}, " " + w.member(member) + comma})...)
	}
	w.indent = indent
	at := d.lineTail(tail)
	return splice(d.src, append(edits, edit{span{at, at}, w.newline + w.indent + w.member(member) + comma})...)
}

// contentEnd returns the start of the white space before an offset. White space at
// the end of a comment belongs to the comment.
func (d *jsonDoc) contentEnd(at int) int {
	end := len(bytes.TrimRight(d.src[:at], jsonSpace))
	for _, c := range d.comments {
		if c.end <= at {
			end = max(end, c.end)
		}
	}
	return end
}

// lineTail returns where a new line can begin after an offset: after the comments
// that end on the same line, which belong to it.
func (d *jsonDoc) lineTail(at int) int {
	end := at
	for _, c := range d.comments {
		if c.start < end {
			continue
		}
		between := d.src[end:c.start]
		if len(bytes.Trim(between, " \t")) > 0 || bytes.ContainsRune(d.src[c.start:c.end], '\n') {
			break
		}
		end = c.end
	}
	return end
}

// indent returns the white space before an offset on its line, and whether there is
// nothing else before it.
func (d *jsonDoc) indent(at int) (string, bool) {
	start := bytes.LastIndexByte(d.src[:at], '\n') + 1
	line := bytes.TrimPrefix(d.src[start:at], bom)
	blank := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
	return string(blank), start > 0 && len(blank) == len(line)
}

func (f jsonFile) remove(src []byte, name string) ([]byte, error) {
	d, servers, i, err := f.find(src, name)
	if err != nil || i < 0 {
		return src, err
	}
	return splice(src, d.cut(servers, i)...), nil
}

// cut returns the edits that remove a member with its comma and its line. Comments
// around it stay, since they may be about something else.
func (d *jsonDoc) cut(object *jsonNode, i int) []edit {
	m := object.members[i]
	gone := span{m.key.start, m.value.end}
	var edits []edit
	switch {
	case m.comma >= 0 && len(bytes.Trim(d.src[gone.end:m.comma], jsonSpace)) == 0:
		gone.end = m.comma + 1
	case m.comma >= 0:
		edits = append(edits, edit{span: span{m.comma, m.comma + 1}})
	case i > 0:
		before := object.members[i-1].comma
		edits = append(edits, edit{span: span{before, before + 1}})
	}
	inner := span{object.start + 1, object.end - 1}
	rest := append(slices.Clone(d.src[inner.start:gone.start]), d.src[gone.end:inner.end]...)
	if len(object.members) == 1 && len(edits) == 0 && len(bytes.Trim(rest, jsonSpace)) == 0 {
		return []edit{{span: inner}}
	}
	return append(edits, edit{span: d.widen(gone)})
}

// widen extends a span by the white space that would be left over.
func (d *jsonDoc) widen(s span) span {
	left, right := s.start, s.end
	for left > 0 && (d.src[left-1] == ' ' || d.src[left-1] == '\t') {
		left--
	}
	for right < len(d.src) && (d.src[right] == ' ' || d.src[right] == '\t') {
		right++
	}
	ownLine := left > 0 && d.src[left-1] == '\n'
	lineEnd := right < len(d.src) && (d.src[right] == '\n' || d.src[right] == '\r')
	switch {
	case ownLine && lineEnd:
		left--
		if left > 0 && d.src[left-1] == '\r' {
			left--
		}
		return span{left, right}
	case ownLine:
		return span{s.start, right}
	}
	return span{left, s.end}
}

func (f jsonFile) rest(src []byte, name string) ([]string, error) {
	d, servers, i, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	var out []string
	ours := span{-1, -1}
	if i >= 0 {
		ours = servers.members[i].value.span
	}
	for _, c := range d.comments {
		if !ours.holds(c) {
			out = append(out, c.of(src))
		}
	}
	if d.root == nil {
		return out, nil
	}
	for _, m := range d.root.members {
		if servers == nil || m.value.start != servers.start {
			out = append(out, "key "+m.name)
			out = d.tokens(out, m.value)
			continue
		}
		for j, server := range servers.members {
			if j != i {
				out = append(out, "server "+server.name)
				out = d.tokens(out, server.value)
			}
		}
	}
	return out, nil
}

// tokens appends the content of a value without its layout.
func (d *jsonDoc) tokens(out []string, n jsonNode) []string {
	switch n.kind {
	case '{':
		out = append(out, "{")
		for _, m := range n.members {
			out = d.tokens(append(out, "key "+m.name), m.value)
		}
		return append(out, "}")
	case '[':
		out = append(out, "[")
		for _, item := range n.items {
			out = d.tokens(out, item)
		}
		return append(out, "]")
	}
	return append(out, "value "+n.of(d.src))
}

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

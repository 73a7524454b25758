package clients

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
)

// jsonFile is the format of JSON settings files with an object of servers at the top
// level.
type jsonFile struct{ container string }

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
	var mine fields
	for _, have := range had {
		if owned(have.key) {
			mine = append(mine, have)
		} else {
			want = append(want, have)
		}
	}
	if old.value.kind == '{' && reflect.DeepEqual(simplify(mine), simplify(want[:len(want)-(len(had)-len(mine))])) {
		return src, nil
	}
	w := d.writer()
	if indent, ok := d.indent(old.key.start); ok {
		w.indent = indent
	} else {
		w.inline = !bytes.ContainsRune(src[old.value.start:old.value.end], '\n')
	}
	return splice(src, edit{old.value.span, w.text(want)}), nil
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

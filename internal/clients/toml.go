package clients

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlFile is the format of TOML settings files with a table for each server.
type tomlFile struct{ container string }

// A span is a part of a file, from the first byte to the one after the last.
type span struct{ start, end int }

func (s span) of(src []byte) string { return string(src[s.start:s.end]) }
func (s span) holds(o span) bool    { return s.start <= o.start && o.end <= s.end }

// A tomlDoc is a TOML file split into statements.
type tomlDoc struct {
	src        []byte
	statements []tomlStatement
	comments   []span // between statements and after them, not within values
}

// A tomlStatement is a table header or a key with its value.
type tomlStatement struct {
	span
	header bool
	list   bool     // a header in double brackets
	path   []string // of the table, or of the key within the whole file
	table  []string // the table that a key belongs to
}

// parseTOML splits src into statements. A byte order mark is allowed.
func parseTOML(src []byte) (*tomlDoc, error) {
	text := slices.Clone(src)
	if bytes.HasPrefix(text, bom) {
		copy(text, "   ") // the parser knows no byte order mark
	}
	p := unstable.Parser{KeepComments: true}
	p.Reset(text)
	d := &tomlDoc{src: src}
	var table []string
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind != unstable.Comment {
			st := d.statement(n, table)
			if st.header {
				table = st.path
			}
			d.statements = append(d.statements, st)
			n = n.Next() // the comment on the same line
		}
		if n != nil {
			d.comments = append(d.comments, rawSpan(n))
		}
	}
	if bad := (*unstable.ParserError)(nil); errors.As(p.Error(), &bad) {
		message := bad.Message
		switch {
		case strings.HasSuffix(message, "at start of value"):
			message += "; text needs quotes"
		case strings.HasPrefix(message, "invalid escape character"):
			message += "; double the backslash, or use single quotes"
		}
		return nil, syntaxError(src, int(p.Range(bad.Highlight).Offset), "%s", message)
	}
	return d, p.Error()
}

// rawSpan returns the part of the file that a comment or a key with its value takes.
// Tables, arrays and inline tables have none.
func rawSpan(n *unstable.Node) span {
	return span{int(n.Raw.Offset), int(n.Raw.Offset + n.Raw.Length)}
}

// statement converts a statement that comes after the header of a table.
func (d *tomlDoc) statement(n *unstable.Node, table []string) tomlStatement {
	var path []string
	var key span // from the first part to the last
	for it := n.Key(); it.Next(); {
		part := rawSpan(it.Node())
		if path == nil {
			key.start = part.start
		}
		key.end = part.end
		path = append(path, string(it.Node().Data))
	}
	if n.Kind == unstable.KeyValue {
		return tomlStatement{span: rawSpan(n), path: slices.Concat(table, path), table: table}
	}
	key.start = bytes.LastIndexByte(d.src[:key.start], '[')
	if n.Kind == unstable.ArrayTable {
		key.start--
	}
	return tomlStatement{span: key, header: true, list: n.Kind == unstable.ArrayTable, path: path}
}

// A tomlEntry is one server: the tables [servers.name] and [servers.name.more], anywhere in the
// file.
type tomlEntry struct {
	main   int // index of the table [servers.name], -1 without one
	tables []tomlTable
}

// A tomlTable is a header with the keys below it.
type tomlTable struct {
	span          // whole lines, from the header to the last key
	path []string // below the server's name
	keys []tomlStatement
}

func prefixed(path []string, prefix ...string) bool {
	return len(path) >= len(prefix) && slices.Equal(path[:len(prefix)], prefix)
}

// find parses src and collects the tables of one server. Servers that are written in
// another form cannot be edited by whole tables and are an error.
func (f tomlFile) find(src []byte, name string) (*tomlDoc, tomlEntry, error) {
	e := tomlEntry{main: -1}
	d, err := parseTOML(src)
	if err != nil {
		return nil, e, err
	}
	inside := false
	for _, st := range d.statements {
		if err := f.editable(d, st, name); err != nil {
			return nil, e, err
		}
		ours := prefixed(st.path, f.container, name)
		if st.header {
			if inside = ours; !inside {
				continue
			}
			table := tomlTable{span: d.wholeLines(st.span), path: st.path[2:]}
			if len(table.path) == 0 {
				if e.main >= 0 {
					return nil, e, syntaxError(d.src, st.start, "the table %q occurs twice; keep one",
						strings.Join(st.path, "."))
				}
				e.main = len(e.tables)
			}
			e.tables = append(e.tables, table)
			continue
		}
		if inside {
			table := &e.tables[len(e.tables)-1]
			table.end = d.wholeLines(st.span).end
			table.keys = append(table.keys, st)
		}
	}
	return d, e, nil
}

// editable returns an error if a statement prevents editing by whole tables.
func (f tomlFile) editable(d *tomlDoc, st tomlStatement, name string) error {
	switch {
	case st.list && (len(st.path) == 1 && st.path[0] == f.container || prefixed(st.path, f.container, name)):
		return syntaxError(d.src, st.start, "%q should be a table in single brackets", strings.Join(st.path, "."))
	case st.header:
		return nil
	case len(st.path) == 1 && st.path[0] == f.container:
		return syntaxError(d.src, st.start, "%q is written as one value; write [%s.NAME] tables instead", f.container,
			f.container)
	case prefixed(st.path, f.container, name) && !prefixed(st.table, f.container, name):
		return syntaxError(d.src, st.start, "the server %q is not written as a separate table; remove these lines",
			name)
	}
	return nil
}

// wholeLines widens a statement to its lines, the last line end included.
func (d *tomlDoc) wholeLines(s span) span {
	start := bytes.LastIndexByte(d.src[:s.start], '\n') + 1
	if start == 0 && bytes.HasPrefix(d.src, bom) {
		start = len(bom)
	}
	if n := bytes.IndexByte(d.src[s.end:], '\n'); n >= 0 {
		return span{start, s.end + n + 1}
	}
	return span{start, len(d.src)}
}

func (f tomlFile) entry(src []byte, name string) (string, error) {
	_, e, err := f.find(src, name)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	for _, t := range e.tables {
		out.WriteString(t.of(src))
	}
	return out.String(), nil
}

func (f tomlFile) set(src []byte, name string, want fields, owned func(string) bool) ([]byte, error) {
	_, e, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	if e.main >= 0 && f.holds(src, name, want, owned) {
		return src, nil
	}
	var kept []string // keys that the person or the client added
	var edits []edit
	for i, t := range e.tables {
		if len(t.path) > 0 && !owned(t.path[0]) {
			continue // a table that the person or the client added
		}
		edits = append(edits, edit{span: t.span})
		for _, key := range t.keys {
			if i == e.main && !owned(key.path[2]) {
				kept = append(kept, key.of(src))
			}
		}
	}
	block := f.block(name, want, kept, newlineOf(src))
	if e.main < 0 {
		return appendTOML(splice(src, edits...), block), nil
	}
	main := e.tables[e.main].span
	for i := range edits {
		if edits[i].span == main {
			edits[i].text = block
		}
	}
	return splice(src, edits...), nil
}

// holds reports whether the owned keys of an entry have the wanted values, in any layout.
func (f tomlFile) holds(src []byte, name string, want fields, owned func(string) bool) bool {
	have := f.decoded(src, name)
	maps.DeleteFunc(have, func(key string, _ any) bool { return !owned(key) })
	return have != nil && reflect.DeepEqual(have, f.decoded([]byte(f.block(name, want, nil, "\n")), name))
}

// decoded returns the values of an entry, or nil if there is none that can be decoded.
func (f tomlFile) decoded(src []byte, name string) map[string]any {
	var file map[string]any
	if toml.Unmarshal(bytes.TrimPrefix(src, bom), &file) != nil {
		return nil
	}
	servers, _ := file[f.container].(map[string]any)
	entry, _ := servers[name].(map[string]any)
	return entry
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

// block returns the text of the server's table.
func (f tomlFile) block(name string, want fields, kept []string, newline string) string {
	lines := []string{fmt.Sprintf("[%s.%s]", f.container, name)}
	for _, w := range want {
		lines = append(lines, tomlKey(w.key)+" = "+tomlText(w.value))
	}
	return strings.Join(append(lines, kept...), newline) + newline
}

// appendTOML appends a table after a blank line. There its header always begins a
// new table.
func appendTOML(src []byte, block string) []byte {
	nl := newlineOf(src)
	out := slices.Clone(src)
	if len(bytes.TrimPrefix(out, bom)) > 0 {
		if !bytes.HasSuffix(out, []byte("\n")) {
			out = append(out, nl...)
		}
		if !bytes.HasSuffix(out, []byte("\n"+nl)) {
			out = append(out, nl...)
		}
	}
	return append(out, block...)
}

func (f tomlFile) remove(src []byte, name string) ([]byte, error) {
	_, e, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	edits := make([]edit, len(e.tables))
	end := 0
	for i, t := range e.tables {
		gone := widenTOML(src, t.span)
		gone.start = max(gone.start, end) // both may want the line between them
		end = gone.end
		edits[i] = edit{span: gone}
	}
	return splice(src, edits...), nil
}

// widenTOML extends the span of a table by a blank line that would be left over: one
// of those before and after the table, or both at the start of the file.
func widenTOML(src []byte, s span) span {
	before, after := src[:s.start], src[s.end:]
	blank := 0
	switch {
	case bytes.HasPrefix(after, []byte("\r\n")):
		blank = 2
	case bytes.HasPrefix(after, []byte("\n")):
		blank = 1
	}
	switch {
	case len(bytes.TrimPrefix(before, bom)) == 0:
		s.end += blank
	case len(after) > 0 && blank == 0:
	case bytes.HasSuffix(before, []byte("\n\r\n")):
		s.start -= 2
	case bytes.HasSuffix(before, []byte("\n\n")):
		s.start--
	}
	return s
}

func (f tomlFile) rest(src []byte, name string) ([]string, error) {
	d, e, err := f.find(src, name)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, c := range d.comments {
		if !slices.ContainsFunc(e.tables, func(t tomlTable) bool { return t.holds(c) }) {
			out = append(out, c.of(src))
		}
	}
	for _, st := range d.statements {
		if prefixed(st.path, f.container, name) {
			continue
		}
		text := fmt.Sprintf("%q", st.path)
		if st.header {
			text += fmt.Sprintf(" table, list %v", st.list)
		} else {
			text += fmt.Sprintf(" in %q: %s", st.table, st.of(src))
		}
		out = append(out, text)
	}
	return out, nil
}

func tomlKey(key string) string {
	if nameRule().MatchString(key) {
		return key
	}
	return tomlQuote(key)
}

// tomlText writes the values of our entries: text, lists of text, and tables of text. Tables
// stand on one line to keep the entry in one piece.
func tomlText(v any) string {
	switch v := v.(type) {
	case fields:
		items := make([]string, len(v))
		for i, f := range v {
			items[i] = tomlKey(f.key) + " = " + tomlText(f.value)
		}
		return "{ " + strings.Join(items, ", ") + " }"
	case []string:
		items := make([]string, len(v))
		for i, s := range v {
			items[i] = tomlQuote(s)
		}
		return "[" + strings.Join(items, ", ") + "]"
	case string:
		return tomlQuote(v)
	}
	return `""` // there are no other values
}

// tomlQuote returns a basic string. TOML has fewer escapes than Go, and no way to
// write text that is not UTF-8.
func tomlQuote(s string) string {
	var out strings.Builder
	out.WriteByte('"')
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		switch {
		case r == '"' || r == '\\':
			out.WriteByte('\\')
			out.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			out.WriteString(`\u00` + strconv.FormatInt(0x100+int64(r), 16)[1:])
		default:
			out.WriteRune(r)
		}
	}
	out.WriteByte('"')
	return out.String()
}

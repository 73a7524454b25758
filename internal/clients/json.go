package clients

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

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
	plain    []byte      // src with everything that is not strict JSON made blank: same offsets
	comments []span      // in order
	trailing map[int]int // closing bracket -> the trailing comma before it
	root     *jsonNode   // nil if there are only white space and comments
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

// parseJSON parses src. encoding/json checks the syntax, so the result is the same
// as elsewhere, except for comments, trailing commas and a byte order mark.
func parseJSON(src []byte) (*jsonDoc, error) {
	d := &jsonDoc{src: src, plain: slices.Clone(src), trailing: map[int]int{}}
	if err := d.blank(); err != nil {
		return nil, err
	}
	if len(bytes.Trim(d.plain, jsonSpace)) == 0 {
		return d, nil
	}
	if err := json.Unmarshal(d.plain, new(json.RawMessage)); err != nil {
		return nil, d.complain(err)
	}
	w := jsonWalker{doc: d}
	root := w.value()
	d.root = &root
	if root.kind != '{' {
		return nil, syntaxError(src, root.start, "the settings should be an object in braces")
	}
	return d, nil
}

func (d *jsonDoc) complain(err error) error {
	bad := (*json.SyntaxError)(nil)
	if !errors.As(err, &bad) {
		return err
	}
	// The offset counts the bytes read, the last of which is the bad one;
	// at the end of the input there is no such byte.
	at := int(bad.Offset) - 1
	if bad.Error() == "unexpected end of JSON input" {
		at = len(d.src)
	}
	return syntaxError(d.src, at, "%s", bad.Error())
}

// blank overwrites comments, trailing commas and the byte order mark with
// spaces, and remembers them.
func (d *jsonDoc) blank() error {
	p := d.plain
	if bytes.HasPrefix(p, bom) {
		wipe(p[:len(bom)])
	}
	last, lastAt := byte(0), -1 // the last byte that means something
	beforeComma := byte(0)
	for i := 0; i < len(p); {
		switch c := p[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
			continue
		case c == '/' && i+1 < len(p) && (p[i+1] == '/' || p[i+1] == '*'):
			end := commentEnd(p, i)
			if end < 0 {
				return syntaxError(d.src, i, "this comment does not end")
			}
			d.comments = append(d.comments, span{i, end})
			wipe(p[i:end])
			i = end
			continue
		case c == '}' || c == ']':
			// A trailing comma may follow a value, and is an error elsewhere.
			if last == ',' && !bytes.ContainsRune([]byte("{[,:\x00"), rune(beforeComma)) {
				d.trailing[i] = lastAt
				p[lastAt] = ' '
			}
		case c == ',':
			beforeComma = last
		}
		last, lastAt = p[i], i
		if p[i] == '"' {
			i = stringEnd(p, i)
		} else {
			i++
		}
	}
	return nil
}

// commentEnd returns the offset after the comment that begins at i, or -1.
func commentEnd(p []byte, i int) int {
	if p[i+1] == '/' {
		if n := bytes.IndexAny(p[i:], "\r\n"); n >= 0 {
			return i + n
		}
		return len(p)
	}
	if n := bytes.Index(p[i+2:], []byte("*/")); n >= 0 {
		return i + 2 + n + 2
	}
	return -1
}

// stringEnd returns the offset after the string that begins at i, or the end of the
// line if it is not closed; encoding/json reports that.
func stringEnd(p []byte, i int) int {
	for i++; i < len(p) && p[i] != '\n'; i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return min(i, len(p))
}

// wipe replaces everything but line ends by spaces.
func wipe(p []byte) {
	for i := range p {
		if p[i] != '\n' && p[i] != '\r' {
			p[i] = ' '
		}
	}
}

// A jsonWalker builds nodes from valid text, whose depth encoding/json has limited.
type jsonWalker struct {
	doc *jsonDoc
	pos int
}

// next skips white space and returns the byte that follows.
func (w *jsonWalker) next() byte {
	p := w.doc.plain
	for p[w.pos] == ' ' || p[w.pos] == '\t' || p[w.pos] == '\n' || p[w.pos] == '\r' {
		w.pos++
	}
	return p[w.pos]
}

func (w *jsonWalker) value() jsonNode {
	n := jsonNode{kind: w.next(), span: span{start: w.pos}}
	switch n.kind {
	case '{':
		w.pos++
		for w.next() != '}' {
			n.members = append(n.members, w.member())
		}
		w.pos++
		if comma, ok := w.doc.trailing[w.pos-1]; ok {
			n.members[len(n.members)-1].comma = comma
		}
	case '[':
		w.pos++
		for w.next() != ']' {
			n.items = append(n.items, w.value())
			if w.next() == ',' {
				w.pos++
			}
		}
		w.pos++
	case '"':
		w.pos = stringEnd(w.doc.plain, w.pos)
	default:
		for w.pos < len(w.doc.plain) && !bytes.ContainsRune([]byte(" \t\r\n,:]}"), rune(w.doc.plain[w.pos])) {
			w.pos++
		}
	}
	n.end = w.pos
	return n
}

func (w *jsonWalker) member() jsonMember {
	w.next()
	m := jsonMember{key: span{start: w.pos}, comma: -1}
	m.key.end = stringEnd(w.doc.plain, w.pos)
	w.pos = m.key.end
	m.name = unquote(m.key.of(w.doc.plain))
	w.next() // the colon
	w.pos++
	m.value = w.value()
	if w.next() == ',' {
		m.comma = w.pos
		w.pos++
	}
	return m
}

// unquote returns the value of a valid string.
func unquote(text string) string {
	var s string
	if json.Unmarshal([]byte(text), &s) != nil {
		return text
	}
	return s
}

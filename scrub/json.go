package scrub

import (
	"encoding/json"
	"strings"
)

// JSON is raw with its secrets hidden: in strings as they read once decoded,
// in keys, and whole values under keys such as password. Everything else
// keeps its bytes. What is not JSON is scrubbed as text.
func (s *Scrubber) JSON(raw []byte) []byte {
	p := s.program()
	if out, ok := p.document(raw); ok {
		return out
	}
	if out := p.text(string(raw)); out != string(raw) {
		return []byte(out)
	}
	return raw
}

// document is raw with its secrets hidden, unless raw is no JSON. It is raw
// itself when there is none.
func (p *program) document(raw []byte) ([]byte, bool) {
	w := walker{p: p, raw: string(raw)}
	if !w.walk() {
		return nil, false
	}
	if w.out == nil {
		return raw, true
	}
	return append(w.out, w.raw[w.copied:]...), true
}

// A walker passes over a document of JSON, string by string. It does not
// recurse: the depth of the document is a stranger's choice.
type walker struct {
	p      *program
	raw    string
	out    []byte // nil until something is hidden
	copied int    // how much of raw is in out
	open   []frame
}

// A frame is an object or a list that the walker is in.
type frame struct {
	object bool
	value  bool   // the next string is a value, not a key
	field  string // the key in force
	sibling
}

// A sibling is what a neighbour said about the next value: the name in
// {"name": ..., "value": ...}, the flag in ["--token", ...].
type sibling struct{ said string }

func (w *walker) walk() bool {
	for i := 0; i < len(w.raw); i++ {
		switch b := w.raw[i]; b {
		case '{', '[':
			w.push(b == '{')
		case '}', ']':
			if len(w.open) == 0 || w.open[len(w.open)-1].object != (b == '}') {
				return false
			}
			w.open = w.open[:len(w.open)-1]
		case ':', ',':
			if len(w.open) > 0 {
				w.open[len(w.open)-1].value = b == ':'
			}
		case '"':
			end := stringEnd(w.raw, i)
			if end < 0 || !w.string(i, end) {
				return false
			}
			i = end - 1
		}
	}
	return len(w.open) == 0
}

func (w *walker) push(object bool) {
	f := frame{object: object}
	if n := len(w.open); n > 0 && !object {
		f.field = w.open[n-1].field
	}
	w.open = append(w.open, f)
}

// stringEnd is behind the quote that ends the string which begins at i.
func stringEnd(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// string handles the string between from and to, quotes included.
func (w *walker) string(from, to int) bool {
	plain, ok := decoded(w.raw[from:to])
	if !ok {
		return false
	}
	clean := w.clean(plain)
	if clean == plain {
		return true
	}
	code, err := json.Marshal(clean)
	if err != nil {
		return false
	}
	w.out = append(append(w.out, w.raw[w.copied:from]...), code...)
	w.copied = to
	return true
}

// decoded is the text of a string in quotes.
func decoded(code string) (string, bool) {
	if strings.IndexByte(code, '\\') < 0 {
		return code[1 : len(code)-1], true
	}
	var plain string
	err := json.Unmarshal([]byte(code), &plain)
	return plain, err == nil
}

func (w *walker) clean(plain string) string {
	if len(w.open) == 0 {
		return w.p.text(plain)
	}
	f := &w.open[len(w.open)-1]
	if f.object && !f.value {
		f.field = plain
		return w.p.text(plain)
	}
	clean := w.p.under(f.field, f.about(f.field, f.object), plain)
	f.hear(f.field, plain, f.object)
	return clean
}

// hear notes what a value says about the next one.
func (s *sibling) hear(key, value string, object bool) {
	switch {
	case !object:
		s.said = ""
		if strings.HasPrefix(value, "--") || (&text{s: value}).headerName(0) {
			s.said = strings.TrimLeft(value, "-")
		}
	case key == "name" || key == "key" || key == "Name" || key == "Key" || key == "header":
		s.said = value
	}
}

// about is what was said, if it is about this key.
func (s *sibling) about(key string, object bool) string {
	if object && key != "value" && key != "Value" {
		return ""
	}
	return s.said
}

// text is s with its secrets hidden.
func (p *program) text(s string) string { return p.render(s, 0, p.find(s)) }

// under is a string value as it may be shown under a key.
func (p *program) under(key, said, value string) string {
	w := weigh(key)
	if w == silent && said != "" {
		key, w = said, weigh(said)
	}
	if !p.whole(w, value) {
		return p.text(value)
	}
	mask := p.mask(span{kind: kindOf(w, key)})
	if head, rest, ok := strings.Cut(value, " "); ok && rest != "" && schemes.has(head) {
		return head + " " + mask
	}
	return mask
}

// whole says that a value under a key of this weight is hidden as a whole.
func (p *program) whole(w weight, value string) bool {
	if w == silent || len(value) < 4 || placeholder(value) || p.allow.has(value) {
		return false
	}
	switch w {
	case weak:
		return setting{weight: w, value: value, quoted: true}.secret()
	case entirely:
		return !strings.Contains(value, "://") && !pathLike(value)
	}
	return !named(value) && !pathLike(value)
}

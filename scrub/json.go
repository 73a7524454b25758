package scrub

import (
	"bytes"
	"encoding/json"
	"strings"
)

// JSON masks the secrets of a document: in decoded strings, in keys, and whole
// values under keys such as password. All other bytes stay. Text that is not JSON
// is scrubbed as text.
func (s *Scrubber) JSON(raw []byte) []byte {
	p := s.program()
	if out, ok := p.document(raw, s); ok {
		return out
	}
	if out := s.Text(string(raw)); out != string(raw) {
		return []byte(out)
	}
	return raw
}

// document returns raw with its secrets masked, or false if raw is not JSON. It
// returns raw itself if there is no secret.
func (p *program) document(raw []byte, by *Scrubber) ([]byte, bool) {
	w := walker{p: p, by: by, raw: string(raw)}
	if !w.walk() {
		return nil, false
	}
	if w.out == nil {
		return raw, true
	}
	return append(w.out, w.raw[w.copied:]...), true
}

// A walker iterates over the strings of a JSON document. It does not recurse,
// because the depth of the document is not trusted.
type walker struct {
	p      *program
	by     *Scrubber // learns the secrets
	raw    string
	out    []byte // nil until something is masked
	copied int    // how much of raw is in out
	open   []frame
}

// A frame is an open object or list.
type frame struct {
	object bool
	value  bool   // the next string is a value, not a key
	field  string // the current key
	sibling
}

// A sibling is a string that names the next value, as in {"name": ..., "value":
// ...} and ["--token", ...].
type sibling struct{ name string }

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

// stringEnd returns the position after the string that begins at i, or -1.
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

// decoded returns the text of a string in quotes.
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
		return w.by.Text(plain)
	}
	f := &w.open[len(w.open)-1]
	if f.object && !f.value {
		f.field = plain
		return w.by.Text(plain)
	}
	clean := w.valueUnder(f.field, f.nameFor(f.field, f.object), plain)
	f.note(f.field, plain, f.object)
	return clean
}

// note remembers a value that may name the next one.
func (s *sibling) note(key, value string, object bool) {
	switch {
	case !object:
		s.name = ""
		if strings.HasPrefix(value, "--") || (&text{s: value}).headerName(0) {
			s.name = strings.TrimLeft(value, "-")
		}
	case key == "name" || key == "key" || key == "Name" || key == "Key" || key == "header":
		s.name = value
	}
}

// nameFor returns the remembered name, if it applies to this key.
func (s *sibling) nameFor(key string, object bool) string {
	if object && key != "value" && key != "Value" {
		return ""
	}
	return s.name
}

// valueUnder returns the scrubbed form of a string value under a key.
func (w *walker) valueUnder(key, said, value string) string {
	weight := weightOfName(key)
	if weight == none && said != "" {
		key, weight = said, weightOfName(said)
	}
	if !w.p.hidesWhole(weight, value) {
		return w.by.Text(value)
	}
	whole := span{to: len(value), kind: kindOf(weight, key)}
	w.by.learn(value, []span{whole})
	mask := w.p.mask(whole)
	if head, rest, ok := strings.Cut(value, " "); ok && rest != "" && schemes.has(head) {
		return head + " " + mask
	}
	return mask
}

// hidesWhole reports whether a value under a key of this weight is masked as a whole.
func (p *program) hidesWhole(w weight, value string) bool {
	if w == none || len(value) < 4 || placeholder(value) || p.allow.has(value) {
		return false
	}
	switch w {
	case weak:
		return setting{weight: w, value: value, quoted: true}.secret()
	case always:
		return !strings.Contains(value, "://") && !pathLike(value)
	}
	return !onlyNameWords(value) && !pathLike(value)
}

// Value masks the secrets of the JSON form of a value: in its strings, whole strings under keys
// such as password, and keys that are secrets. It returns maps, lists and [json.Number]s, or
// nil for a value without a JSON form.
func (s *Scrubber) Value(v any) any {
	code, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	var plain any
	d := json.NewDecoder(bytes.NewReader(s.JSON(code)))
	d.UseNumber()
	if d.Decode(&plain) != nil {
		return nil
	}
	return plain
}

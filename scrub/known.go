package scrub

import (
	b64 "encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	minValue       = 6
	maxWindowStart = 32 // the last position in a value for its trigger
	maxIndent      = 16 // blanks at the beginning of a wrapped line
	valueLookBack  = 96 // maxWindowStart, the window and wraps, with room to spare
)

// A valueForm has the triggers of one form of a value. Longer forms come first,
// because they may contain others.
type valueForm struct {
	length   int
	triggers []trigger
}

// Set masks values from now on, in their common encodings, instead of the former
// values of name, if there are any. Values that are short or common in ordinary text are refused:
// the error names their positions, and the others are set.
func (s *Scrubber) Set(name string, values ...string) error {
	return s.SetMasked(name, "", values...)
}

// SetMasked is like Set with a given mask, such as ServerIP.
func (s *Scrubber) SetMasked(name, mask string, values ...string) error {
	if mask != "" && maskAt(mask) != len(mask) {
		return fmt.Errorf("mask %q: use [REDACTED:kind] or [SERVER_SOMETHING]", mask)
	}
	var forms []valueForm
	var refused []error
	for i, v := range values {
		v = strings.TrimSpace(v)
		if err := checkValue(v); err != nil {
			refused = append(refused, fmt.Errorf("value %d of %q: %w", i+1, name, err))
			continue
		}
		for _, f := range formsOf(v, mask) {
			forms = append(forms, valueForm{len(f.text), f.triggers()})
		}
	}
	s.swap(name, forms)
	return errors.Join(refused...)
}

// swap replaces the forms of a name and the program.
func (s *Scrubber) swap(name string, forms []valueForm) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(forms) == 0 && len(s.values[name]) == 0 {
		return // nothing changes
	}
	if s.values == nil {
		s.values = make(map[string][]valueForm)
	}
	if s.values[name] = forms; len(forms) == 0 {
		delete(s.values, name)
	}
	base := s.fixed
	if base == nil {
		base = builtin()
	}
	var all []valueForm
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		all = append(all, s.values[name]...)
	}
	s.now.Store(base.with(all))
}

// with returns a program that also finds values.
func (p *program) with(values []valueForm) *program {
	all := *p
	if len(values) == 0 {
		return &all
	}
	slices.SortStableFunc(values, func(a, b valueForm) int { return b.length - a.length })
	var triggers []trigger
	for _, v := range values {
		triggers = append(triggers, v.triggers...)
	}
	all.index = p.index.with(triggers, p.triggers)
	all.triggers = slices.Concat(triggers, p.triggers)
	all.reach = valueLookBack
	return &all
}

// checkValue returns an error for values that occur in ordinary text.
func checkValue(v string) error {
	switch {
	case len(v) < minValue:
		return fmt.Errorf("it has %d bytes; at least %d are needed", len(v), minValue)
	case strings.Trim(v, v[:1]) == "", commonValues.has(v), stopWords.has(v), onlyNameWords(v), hasMask(v):
		return errors.New("it is too common to be hidden; choose another secret")
	case lower.all(v) && len(v) < 8:
		return errors.New("it is a short word; choose another secret")
	}
	return nil
}

// formsOf returns the encodings of v that are searched.
func formsOf(v, mask string) []form {
	seen := make(map[string]bool)
	var out []form
	add := func(s string, f form) {
		if len(s) >= minValue && !seen[s] {
			seen[s] = true
			f.text, f.mask = s, mask
			out = append(out, f)
		}
	}
	address := mask != "" && (anyHex | dot | colon | dash).all(v)
	if utf8.ValidString(v) {
		add(v, form{bounded: address})
		for _, s := range jsonForms(v) {
			add(s, form{})
			for _, twice := range jsonForms(s) {
				add(twice, form{})
			}
		}
	}
	for _, s := range percentForms(v) {
		add(s, form{})
	}
	for _, s := range base64Forms(v) {
		add(s, form{inBase64: true})
	}
	add(hex.EncodeToString([]byte(v)), form{folded: true})
	return out
}

// jsonForms returns s as JSON string content: with minimal escapes, with & < >
// escaped, with / escaped, and in ASCII.
func jsonForms(s string) []string {
	html, err := json.Marshal(s)
	if err != nil {
		return nil
	}
	body := string(html[1 : len(html)-1])
	few := strings.NewReplacer(`\u0026`, "&", `\u003c`, "<", `\u003e`, ">").Replace(body)
	var ascii strings.Builder
	for _, r := range few {
		switch {
		case r < 0x80:
			ascii.WriteRune(r)
		case r > 0xffff:
			r -= 0x10000
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, 0xd800+r>>10, 0xdc00+r&0x3ff)
		default:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		}
	}
	return []string{body, few, strings.ReplaceAll(few, "/", `\/`), ascii.String()}
}

// percentForms returns s percent-encoded, from as few bytes as possible to all.
func percentForms(s string) []string {
	var most, all strings.Builder
	for _, b := range []byte(s) {
		if alnum.has(b) {
			most.WriteByte(b)
		} else {
			fmt.Fprintf(&most, "%%%02X", b)
		}
		fmt.Fprintf(&all, "%%%02X", b)
	}
	var out []string
	for _, f := range []string{url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:],
		most.String(), all.String()} {
		out = append(out, f, lowerEscapes(f))
	}
	return out
}

// lowerEscapes writes %2F as %2f.
func lowerEscapes(s string) string {
	b := []byte(s)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			b[i+1], b[i+2] = fold(b[i+1]), fold(b[i+2])
			i += 2
		}
	}
	return string(b)
}

// base64Forms returns the base64 digits that depend on s alone, for each of its
// three positions in a group, in both alphabets.
func base64Forms(s string) []string {
	var out []string
	for skip := range 3 {
		bits := 8 * (skip + len(s))
		code := b64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", skip) + s + "\x00\x00"))
		code = code[(8*skip+5)/6 : bits/6]
		out = append(out, code, strings.NewReplacer("+", "-", "/", "_").Replace(code))
	}
	return out
}

var commonValues = newWordSet("localhost", "127.0.0.1", "0.0.0.0", "example.com", "password1", "letmein", "qwerty",
	"administrator",
	"123456", "1234567", "12345678", "123456789", "1234567890", "abcdef", "abc123", "foobar", "changeme", "welcome",
	"admin123",
	"secret123", "test1234", "qwerty123", "monkey", "dragon", "master", "server", "client", "system", "postgres",
	"production",
	"development", "255.255.255.0", "255.255.255.255", "192.168.0.1", "192.168.1.1")

// A form is one encoding of a known value.
type form struct {
	text     string
	mask     string
	folded   bool  // hexadecimal, in small or capital letters
	bounded  bool  // an IP address: 10.0.0.1 must not match 10.0.0.12
	inBase64 bool  // lines may be wrapped, and up to three digits on both sides are masked too
	wraps    bool  // lines may be wrapped
	spaced   bool  // blanks or a line break are between the characters
	gaps     class // of a single byte that may be between any two
}

const maxGap = 4 // blanks between the characters of a spaced form

// triggers returns the rarest window of the form. Wrapped lines split only one of
// two, so there are two of base64.
func (f form) triggers() []trigger {
	most := min(len(f.text), maxWindowStart)
	if f.spaced {
		return f.spacedTriggers(min(most, 8))
	}
	if f.gaps != 0 {
		return f.gapTriggers(min(most, 12))
	}
	if f.wraps && most >= 8 { // lines of at least eight characters split only one of two neighbours
		at := rareInFilter(f.text[:most-4])
		return []trigger{f.at(at), f.at(at + 4)}
	}
	if !f.inBase64 || most < 8 {
		return []trigger{f.at(rareInFilter(f.text[:most]))}
	}
	return []trigger{f.at(rareInFilter(f.text[:most/2])), f.at(most/2 + rareInFilter(f.text[most/2:most]))}
}

// spacedTriggers returns the windows of a character in the first most ones, of the one after
// it, and of the characters that may stand between them and before the next one.
func (f form) spacedTriggers(most int) []trigger {
	at := 0
	for i := range most - 2 {
		if inText[f.text[i]]+inText[f.text[i+1]] > inText[f.text[at]]+inText[f.text[at+1]] {
			at = i
		}
	}
	a, b := f.text[at:at+1], f.text[at+1:at+2]
	var all []trigger
	for _, window := range []string{a + " " + b + " ", a + "\n" + b + "\n", a + `\n` + b, a + "   ", a + "\r\n" + b} {
		all = append(all, f.trigger(at, window))
	}
	return all
}

// gapTriggers returns windows of hexadecimal digits: of two bytes in a row, at two positions,
// one of them in a group of four digits, and with a blank or colon between the bytes.
func (f form) gapTriggers(most int) []trigger {
	at := rareInFilter(f.text[:min(len(f.text), most-2)]) &^ 1
	all := []trigger{f.at(at), f.at(at + 2)}
	for _, gap := range []string{" ", ":"} {
		all = append(all, f.trigger(at, f.text[at:at+2]+gap+f.text[at+2:at+3]))
	}
	return all
}

// at returns the trigger for the window at an offset of the form.
func (f form) at(offset int) trigger { return f.trigger(offset, f.text[offset:]) }

// trigger returns the trigger for a window of text that begins with the byte at an offset of
// the form.
func (f form) trigger(offset int, window string) trigger {
	find := func(t *text, at int) (span, bool) { return f.find(t, at, offset) }
	return trigger{windows: []uint32{windowOf(window)}, find: find}
}

// find compares the text around at with the form; at is the position of the byte
// at offset.
func (f form) find(t *text, at, offset int) (span, bool) {
	from, to := at, at
	for k := offset; k < len(f.text); k++ {
		if k > offset {
			next := f.after(t, to)
			if f.spaced && next == to {
				return span{}, false
			}
			to = next
		}
		if t.atEnd(to) || !f.same(t.s[to], f.text[k]) {
			return span{}, false
		}
		to++
	}
	for k := offset; k > 0; k-- {
		next := f.before(t, from)
		if f.spaced && next == from {
			return span{}, false
		}
		from = next
		if from == 0 || !f.same(t.s[from-1], f.text[k-1]) {
			return span{}, false
		}
		from--
	}
	if f.bounded && (from > 0 && digit.has(t.s[from-1]) || digit.has(t.at(to))) {
		return span{}, false
	}
	if f.inBase64 {
		from, to = t.back(from, base64|token, 3), t.runMax(to, base64|token, 3)
	}
	return span{from: from, to: to, kind: "value", mask: f.mask}, true
}

// after returns the end of the characters that may stand between two characters of the form at
// i.
func (f form) after(t *text, i int) int {
	switch {
	case f.spaced:
		if t.has(i, `\n`) {
			return i + 2
		}
		return t.runMax(i, white, maxGap)
	case f.inBase64, f.wraps:
		return t.wrapAfter(i)
	case f.gaps != 0:
		if next := t.wrapAfter(i); next > i {
			return next
		}
		return t.runMax(i, f.gaps, 1)
	}
	return i
}

// before is after for the characters that end at i.
func (f form) before(t *text, i int) int {
	switch {
	case f.spaced:
		if strings.HasSuffix(t.s[:i], `\n`) {
			return i - 2
		}
		return t.back(i, white, maxGap)
	case f.inBase64, f.wraps:
		return t.wrapBefore(i)
	case f.gaps != 0:
		if next := t.wrapBefore(i); next < i {
			return next
		}
		return t.back(i, f.gaps, 1)
	}
	return i
}

func (f form) same(a, b byte) bool { return a == b || f.folded && fold(a) == b }

// wrapAfter returns the end of the line break at i and the indentation after it,
// or i if there is none. It also reads the line breaks of JSON.
func (t *text) wrapAfter(i int) int {
	j := i
	for _, end := range []string{"\r", `\r`, "\n", `\n`} {
		if t.has(j, end) {
			j += len(end)
		}
	}
	if j == i {
		return i
	}
	return t.runMax(j, blank, maxIndent)
}

// wrapBefore returns the start of the line break that ends at i, or i.
func (t *text) wrapBefore(i int) int {
	from := t.back(i, blank, maxIndent)
	j := from
	for _, end := range []string{"\n", `\n`, "\r", `\r`} {
		if strings.HasSuffix(t.s[:j], end) {
			j -= len(end)
		}
	}
	if j == from {
		return i
	}
	return j
}

// inText rates a byte for the rarity of a window.
var inText = func() (rates [256]int8) {
	for i := range rates {
		switch b := byte(i); {
		case !alnum.has(b):
			rates[i] = 4
		case digit.has(b), strings.IndexByte("jqxz", fold(b)) >= 0:
			rates[i] = 3
		case strings.IndexByte("kvwybp", fold(b)) >= 0:
			rates[i] = 1
		}
	}
	return rates
}()

// rarest returns the position in s of the four bytes that are rarest in text. s may
// be a word.
func rarest(s string) (at int) {
	best := int8(-1)
	for i := 0; i+4 <= len(s); i++ {
		if sum := inText[s[i]] + inText[s[i+1]] + inText[s[i+2]] + inText[s[i+3]]; sum > best {
			best, at = sum, i
		}
	}
	return at
}

// frequencyOrder has the bytes that the filter distinguishes at the second place of
// a window, in lower case, from the rarest in text to the most frequent.
const frequencyOrder = "~|\x7fk{gzwfyxvj}bqdcmhulpansoiret`"

// rareInFilter returns the position in s of the window that lets the filter accept the least
// text: its bytes are rare, above all the second one.
func rareInFilter(s string) (at int) {
	best := -1
	for i := 0; i+4 <= len(s); i++ {
		sum := int(inText[s[i]]+inText[s[i+1]]+inText[s[i+2]]+inText[s[i+3]]) +
			(len(frequencyOrder)-strings.IndexByte(frequencyOrder, s[i+1]&0x1f|0x60))/2
		if sum > best {
			best, at = sum, i
		}
	}
	return at
}

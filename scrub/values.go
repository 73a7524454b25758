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
	valueLeast = 6
	farWindow  = 32 // the last place in a value where its trigger is taken from
	wrapMost   = 16 // blanks that a wrapped line may begin with
	valueReach = 72 // farWindow, the window and a wrap, with room to spare
)

// A writing is what a form of a value is found by. Longer ones are looked for
// first: another may be part of them.
type writing struct {
	length   int
	triggers []trigger
}

// Set hides values from now on, in every encoding that is met every day, and
// forgets what name stood for before. Values that are short or that ordinary
// text is full of are refused, and the error says which by their place; the
// others are set.
func (s *Scrubber) Set(name string, values ...string) error {
	return s.SetMasked(name, "", values...)
}

// SetMasked is Set with a mask of its own, such as ServerIP.
func (s *Scrubber) SetMasked(name, mask string, values ...string) error {
	if mask != "" && maskAt(mask) != len(mask) {
		return fmt.Errorf("mask %q: use [REDACTED:kind] or [SERVER_SOMETHING]", mask)
	}
	var forms []writing
	var refused []error
	for i, v := range values {
		v = strings.TrimSpace(v)
		if err := worth(v); err != nil {
			refused = append(refused, fmt.Errorf("value %d of %q: %w", i+1, name, err))
			continue
		}
		for _, f := range formsOf(v, mask) {
			forms = append(forms, writing{len(f.text), f.triggers()})
		}
	}
	s.swap(name, forms)
	return errors.Join(refused...)
}

// Remove stops hiding what name stands for.
func (s *Scrubber) Remove(name string) {
	s.swap(name, nil)
}

// swap changes what a name stands for and puts a new program in the place of the
// old one.
func (s *Scrubber) swap(name string, forms []writing) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(forms) == 0 && len(s.values[name]) == 0 {
		return // it stood for nothing and still does
	}
	if s.values == nil {
		s.values = make(map[string][]writing)
	}
	if s.values[name] = forms; len(forms) == 0 {
		delete(s.values, name)
	}
	base := s.fixed
	if base == nil {
		base = builtin
	}
	p := *base
	var all []writing
	for _, name := range slices.Sorted(maps.Keys(s.values)) {
		all = append(all, s.values[name]...)
	}
	if len(all) > 0 {
		slices.SortStableFunc(all, func(a, b writing) int { return b.length - a.length })
		var triggers []trigger
		for _, w := range all {
			triggers = append(triggers, w.triggers...)
		}
		p.index = base.index.with(triggers, base.triggers)
		p.reach = valueReach
	}
	s.now.Store(&p)
}

// worth is an error for values that would hide half of every text.
func worth(v string) error {
	switch {
	case len(v) < valueLeast:
		return fmt.Errorf("it has %d bytes; at least %d are needed", len(v), valueLeast)
	case strings.Trim(v, v[:1]) == "", commonValues.has(v), stopWords.has(v), named(v), hasMask(v):
		return errors.New("it is too common to be hidden; choose another secret")
	case lower.all(v) && len(v) < 8:
		return errors.New("it is a short word; choose another secret")
	}
	return nil
}

// formsOf lists the ways to write v.
func formsOf(v, mask string) []form {
	seen := make(map[string]bool)
	var out []form
	add := func(s string, f form) {
		if len(s) >= valueLeast && !seen[s] {
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
		add(s, form{edges: base64 | token})
	}
	add(hex.EncodeToString([]byte(v)), form{folded: true})
	return out
}

// jsonForms are the ways to write s in a string of JSON: as little escaped as
// allowed, with & < > escaped, with / escaped, and in ASCII.
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

// percentForms are the ways to write s in an address, from as little escaped
// as possible to every byte.
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
	for _, f := range []string{url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:], most.String(), all.String()} {
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

// base64Forms are the digits that s certainly has in base64, whichever of
// the three places in a group it begins at, in both alphabets.
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

var commonValues = newWordSet("localhost", "127.0.0.1", "0.0.0.0", "example.com", "password1", "letmein", "qwerty", "administrator",
	"123456", "1234567", "12345678", "123456789", "1234567890", "abcdef", "abc123", "foobar", "changeme", "welcome", "admin123",
	"secret123", "test1234", "qwerty123", "monkey", "dragon", "master", "server", "client", "system", "postgres", "production",
	"development", "255.255.255.0", "255.255.255.255", "192.168.0.1", "192.168.1.1")

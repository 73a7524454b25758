package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A piece is a word or a part of one, in lower case, with accents and endings.
type piece struct {
	text     string
	from, to int
	word     bool // has an ending that stem may remove
}

// A splitMode is the purpose of splitting a text.
type splitMode int

const (
	forIndex splitMode = iota // all forms that a search for the text may use
	forQuery                  // single characters only where there is no pair
)

// split calls yield with the pieces of text until it returns false.
func split(text string, f splitMode, yield func(piece) bool) {
	text = cut(text, maxText)
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !wordRune(r) {
			at += size
			continue
		}
		end := at + runLength(text[at:], scriptOf(r).spaceless())
		s := splitter{text: text[at:end], at: at, yield: yield}
		if scriptOf(r).spaceless() {
			s.pairs(f)
		} else {
			s.run()
		}
		if s.done {
			return
		}
		at = end
	}
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r))
}

// isJoiner reports whether r, between letters, joins them to one name.
func isJoiner(r rune) bool {
	switch r {
	case '_', '-', '.', '\'', '’', '‐', '‑', '\u00ad', '\u200d', '\u200c':
		return true
	}
	return false
}

// runLength returns the length of the word or name at the beginning of text.
func runLength(text string, paired bool) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		next := at + size
		if !paired && isJoiner(r) {
			r, _ = utf8.DecodeRuneInString(text[next:])
		}
		if !wordRune(r) || !unicode.IsMark(r) && scriptOf(r).spaceless() != paired {
			return at + suffixLength(text[:at], text[at:])
		}
		at = next
	}
	return len(text)
}

// suffixLength returns the length of the signs that end names such as C++ and C#.
func suffixLength(name, rest string) int {
	if len(name) != 1 || name[0] < 'A' || name[0] > 'z' {
		return 0
	}
	for _, sign := range []string{"++", "#"} {
		if after, ok := strings.CutPrefix(rest, sign); ok {
			if r, _ := utf8.DecodeRuneInString(after); !wordRune(r) {
				return len(sign)
			}
		}
	}
	return 0
}

// A splitter splits one run of characters that belong together.
type splitter struct {
	text  string
	at    int // its position in the text
	yield func(piece) bool
	done  bool
}

func (s *splitter) emit(text string, from, to int, word bool) {
	if text = strings.TrimSpace(text); text == "" || s.done {
		return
	}
	if !word {
		text = cut(text, maxTerm)
	}
	s.done = !s.yield(piece{text: text, from: s.at + from, to: s.at + to, word: word})
}

// pairs yields each two adjacent characters, and single ones that can be words.
func (s *splitter) pairs(f splitMode) {
	var starts []int // of each character with its marks
	for i, r := range s.text {
		if !unicode.IsMark(r) || len(starts) == 0 {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(s.text))
	n := len(starts) - 1
	for i := range n {
		from, to := starts[i], starts[i+1]
		r, _ := utf8.DecodeRuneInString(s.text[from:])
		script := scriptOf(r)
		if n == 1 || f == forIndex && (script == han || script == hangul) {
			s.emit(lower(s.text[from:to]), from, to, false)
		}
		if i+1 < n {
			s.emit(lower(s.text[from:starts[i+2]]), from, starts[i+2], false)
		}
	}
}

// run yields a word, or a name and its parts.
func (s *splitter) run() {
	if s.number() {
		return
	}
	from, to := s.trimClitics()
	parts := parts(s.text[from:to])
	for i := range parts {
		parts[i].from += from
		parts[i].to += from
	}
	if len(parts) == 1 {
		p := parts[0]
		s.emit(withoutJoiners(lower(s.text[p.from:p.to])), p.from, p.to, true)
		return
	}
	s.emit(withoutJoiners(lower(s.text[from:to])), from, to, true)
	for _, p := range parts {
		s.emit(withoutJoiners(lower(s.text[p.from:p.to])), p.from, p.to, true)
	}
}

// number yields a number, a version or a date, and its beginnings; it returns
// false if the run is something else.
func (s *splitter) number() bool {
	from := 0
	if c := s.text[0]; (c == 'v' || c == 'V') && len(s.text) > 1 && isDigit(s.text[1]) {
		from = 1
	}
	ends := 0
	for i := from; i < len(s.text); i++ {
		if c := s.text[i]; c == '.' || c == '-' {
			ends++
		} else if !isDigit(c) {
			return false
		}
	}
	if from == 1 && ends == 0 {
		return false // v2 is a name
	}
	s.emit(s.text[from:], from, len(s.text), false)
	for i := len(s.text) - 1; i > from && ends <= 4; i-- {
		if !isDigit(s.text[i]) {
			s.emit(s.text[from:i], from, i, false)
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// trimClitics returns the run without parts that an apostrophe attaches: the 's of English, and
// the articles of French and Italian.
func (s *splitter) trimClitics() (from, to int) {
	to = len(s.text)
	for _, sign := range []string{"'", "’"} {
		i := strings.LastIndex(s.text, sign)
		if i < 0 {
			continue
		}
		switch after := s.text[i+len(sign):]; {
		case strings.EqualFold(after, "s"):
			to = i
		case i <= 2 && len(after) > 2 && strings.Count(s.text, sign) == 1:
			from = i + len(sign)
		}
	}
	return from, to
}

// withoutJoiners removes the joiners of a name except dots: 1.2 is not 12, and
// main.go is found as it is.
func withoutJoiners(name string) string {
	return strings.Map(func(r rune) rune {
		if isJoiner(r) && r != '.' {
			return -1
		}
		return r
	}, name)
}

// A span is a range of bytes.
type span struct{ from, to int }

// parts returns the words of a name: separated by signs, as in read_config and
// main.go, or by capitals, as in readConfig and HTTPServer. An apostrophe does
// not separate.
func parts(name string) []span {
	var all []span
	from := -1
	end := func(at int) {
		if from >= 0 && at > from {
			all = append(all, span{from, at})
		}
		from = -1
	}
	var before, now rune
	for at, next := range name {
		switch {
		case isSeparator(next):
			end(at)
			before, now = 0, 0
			continue
		case from < 0:
			from = at
		case unicode.IsUpper(next) && (unicode.IsLower(now) || unicode.IsDigit(now)):
			end(at)
			from = at
		case unicode.IsLower(next) && unicode.IsUpper(now) && unicode.IsUpper(before) && !isPluralS(name[at:]):
			last := at - utf8.RuneLen(now) // HTTPServer: S begins the next part
			end(last)
			from = last
		}
		before, now = now, next
	}
	end(len(name))
	if len(all) == 0 {
		return []span{{0, len(name)}}
	}
	return all
}

// isPluralS reports whether rest begins with a plural s, as in URLs.
func isPluralS(rest string) bool {
	after, ok := strings.CutPrefix(rest, "s")
	r, _ := utf8.DecodeRuneInString(after)
	return ok && !unicode.IsLower(r)
}

func isSeparator(r rune) bool {
	return isJoiner(r) && r != '\'' && r != '’' && r != '\u00ad' && r != '\u200d' && r != '\u200c'
}

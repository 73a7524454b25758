package index

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a word or a part of one, in lower case, with its accents and its
// ending.
type piece struct {
	text     string
	from, to int
	word     bool // has an ending that can be taken off
}

// form says for what a text is split.
type form int

const (
	whole form = iota // for the index: everything that it may be found by
	asked             // for a query: single characters only where there is no pair
)

// split calls yield with the pieces of text until it returns false.
func split(text string, f form, yield func(piece) bool) {
	text = cut(text, mostText)
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if !wordRune(r) {
			at += size
			continue
		}
		end := at + runLength(text[at:], scriptOf(r).paired())
		s := splitter{text: text[at:end], at: at, yield: yield}
		if scriptOf(r).paired() {
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

// joins tells what holds a name together when it stands between letters.
func joins(r rune) bool {
	switch r {
	case '_', '-', '.', '\'', '’', '‐', '‑', '\u00ad', '\u200d', '\u200c':
		return true
	}
	return false
}

// runLength is the number of bytes that text begins with and that belong
// together.
func runLength(text string, paired bool) int {
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		next := at + size
		if !paired && joins(r) {
			r, _ = utf8.DecodeRuneInString(text[next:])
		}
		if !wordRune(r) || !unicode.IsMark(r) && scriptOf(r).paired() != paired {
			return at + special(text[:at], text[at:])
		}
		at = next
	}
	return len(text)
}

// special is the length of what ends the names of some languages: C++, C#.
func special(name, rest string) int {
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

// splitter splits one run of characters that belong together.
type splitter struct {
	text  string
	at    int // where it begins
	yield func(piece) bool
	done  bool
}

func (s *splitter) emit(text string, from, to int, word bool) {
	if text = strings.TrimSpace(text); text == "" || s.done {
		return
	}
	if !word {
		text = cut(text, mostTerm)
	}
	s.done = !s.yield(piece{text: text, from: s.at + from, to: s.at + to, word: word})
}

// pairs yields each two neighbours, and alone the characters that can be words.
func (s *splitter) pairs(f form) {
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
		if n == 1 || f == whole && (script == han || script == hangul) {
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
	from, to := s.bare()
	parts := parts(s.text[from:to])
	for i := range parts {
		parts[i].from += from
		parts[i].to += from
	}
	if len(parts) == 1 {
		p := parts[0]
		s.emit(joined(lower(s.text[p.from:p.to])), p.from, p.to, true)
		return
	}
	s.emit(joined(lower(s.text[from:to])), from, to, true)
	for _, p := range parts {
		s.emit(joined(lower(s.text[p.from:p.to])), p.from, p.to, true)
	}
}

// number yields a number, a version or a date, and what it begins with; it is
// false where the run is none of these.
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
		return false // v2 is a name of its own
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

// bare leaves out what hangs on a word by an apostrophe: the owner's s, and the
// article of French and Italian.
func (s *splitter) bare() (from, to int) {
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

// joined is a name without the signs that hold it together. Dots stay: 1.2 is
// not 12, and main.go is a name as it is.
func joined(name string) string {
	return strings.Map(func(r rune) rune {
		if joins(r) && r != '.' {
			return -1
		}
		return r
	}, name)
}

package ignore

import (
	"strings"
	"unicode/utf8"
)

// A segment is the pattern for one step of a name.
type segment struct {
	kind kind
	text string  // of exact, prefix and suffix
	toks []token // of general
	d    dialect
}

type kind uint8

const (
	exact   kind = iota // text
	prefix              // text*
	suffix              // *text
	every               // *
	general             // anything else
	anyDirs             // any number of steps
)

// A token is a part of a segment.
type token struct {
	what part
	text string
	set  *class
}

type part uint8

const (
	literal part = iota
	star
	one
	oneOf
)

// parseSegment reads the pattern for one step.
func parseSegment(pattern string, d dialect) (segment, error) {
	toks, err := tokens(pattern, d)
	if err != nil {
		return segment{}, err
	}
	seg := segment{kind: general, toks: toks, d: d}
	switch {
	case len(toks) == 1 && toks[0].what == literal:
		seg = segment{kind: exact, text: toks[0].text}
	case len(toks) == 1 && toks[0].what == star:
		seg = segment{kind: every}
	case len(toks) == 2 && toks[0].what == star && toks[1].what == literal:
		seg = segment{kind: suffix, text: toks[1].text}
	case len(toks) == 2 && toks[0].what == literal && toks[1].what == star:
		seg = segment{kind: prefix, text: toks[0].text}
	}
	return seg, nil
}

func tokens(pattern string, d dialect) ([]token, error) {
	var toks []token
	var text []byte
	flush := func() {
		if len(text) > 0 {
			word := string(text)
			if d.fold {
				word = fold(word)
			}
			toks = append(toks, token{what: literal, text: word})
			text = text[:0]
		}
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			flush()
			if len(toks) == 0 || toks[len(toks)-1].what != star {
				toks = append(toks, token{what: star})
			}
		case '?':
			flush()
			toks = append(toks, token{what: one})
		case '[':
			flush()
			set, size, err := parseClass(pattern[i:], d)
			if err != nil {
				return nil, err
			}
			toks = append(toks, token{what: oneOf, set: set})
			i += size - 1
		case '\\':
			if i++; i == len(pattern) {
				return nil, errSlash
			}
			text = append(text, pattern[i])
		default:
			text = append(text, c)
		}
	}
	flush()
	return toks, nil
}

// match reports whether a step of a name, which is not empty, matches.
func (s *segment) match(name string) bool {
	switch s.kind {
	case exact:
		return name == s.text
	case prefix:
		return strings.HasPrefix(name, s.text)
	case suffix:
		return strings.HasSuffix(name, s.text)
	case every:
		return true
	case general:
		return s.try(name)
	}
	return false
}

// try matches token by token. Only the last star is ever tried again: what
// stands before it matched as early as it could.
func (s *segment) try(name string) bool {
	if last := s.toks[len(s.toks)-1]; last.what == literal && !strings.HasSuffix(name, last.text) {
		return false
	}
	again, from := -1, 0 // the token after the last star, and where it was tried
	for i, at := 0, 0; i < len(s.toks) || at < len(name); {
		if i < len(s.toks) && s.toks[i].what == star {
			i++
			again, from = i, at
			continue
		}
		if i < len(s.toks) {
			if size := s.toks[i].size(name[at:], s.d); size > 0 {
				i, at = i+1, at+size
				continue
			}
		}
		if again < 0 || from >= len(name) {
			return false
		}
		_, size := next(name[from:], s.d)
		from += size
		if again < len(s.toks) && s.toks[again].what == literal {
			skip := strings.Index(name[from:], s.toks[again].text)
			if skip < 0 {
				return false
			}
			from += skip
		}
		i, at = again, from
	}
	return true
}

// size is how much of the beginning of name the token matches, 0 for none.
func (t *token) size(name string, d dialect) int {
	if t.what == literal {
		if strings.HasPrefix(name, t.text) {
			return len(t.text)
		}
		return 0
	}
	if name == "" {
		return 0
	}
	c, size := next(name, d)
	if t.what == oneOf && !t.set.has(c) {
		return 0
	}
	return size
}

// next is the first character of a name. A byte that is not UTF-8 counts as a
// character that is in no range.
func next(name string, d dialect) (rune, int) {
	if !d.runes || name[0] < utf8.RuneSelf {
		return rune(name[0]), 1
	}
	c, size := utf8.DecodeRuneInString(name)
	if c == utf8.RuneError && size == 1 {
		return -1, 1
	}
	return c, size
}

package ignore

import (
	"strings"
	"unicode/utf8"
)

// A segment is the pattern for one step of a name.
type segment struct {
	kind    segmentKind
	text    string  // for exact, prefix and suffix
	tokens  []token // for general
	dialect dialect
}

type segmentKind uint8

const (
	exact   segmentKind = iota // text
	prefix                     // text*
	suffix                     // *text
	every                      // *
	general                    // any other pattern
	anyDirs                    // any number of steps
)

// A token is one element of a segment.
type token struct {
	kind tokenKind
	text string
	set  *class
}

type tokenKind uint8

const (
	literal tokenKind = iota
	star
	anyChar
	charClass
)

// parseSegment parses the pattern for one step.
func parseSegment(pattern string, d dialect) (segment, error) {
	toks, err := tokens(pattern, d)
	if err != nil {
		return segment{}, err
	}
	seg := segment{kind: general, tokens: toks, dialect: d}
	switch {
	case len(toks) == 1 && toks[0].kind == literal:
		seg = segment{kind: exact, text: toks[0].text}
	case len(toks) == 1 && toks[0].kind == star:
		seg = segment{kind: every}
	case len(toks) == 2 && toks[0].kind == star && toks[1].kind == literal:
		seg = segment{kind: suffix, text: toks[1].text}
	case len(toks) == 2 && toks[0].kind == literal && toks[1].kind == star:
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
			toks = append(toks, token{kind: literal, text: word})
			text = text[:0]
		}
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			flush()
			if len(toks) == 0 || toks[len(toks)-1].kind != star {
				toks = append(toks, token{kind: star})
			}
		case '?':
			flush()
			toks = append(toks, token{kind: anyChar})
		case '[':
			flush()
			set, size, err := parseClass(pattern[i:], d)
			if err != nil {
				return nil, err
			}
			toks = append(toks, token{kind: charClass, set: set})
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

// match reports whether a step of a name matches. The step is not empty.
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
		return s.matchTokens(name)
	}
	return false
}

// matchTokens matches token by token. It backtracks only to the last star, which is
// enough: everything before it matched as early as possible.
func (s *segment) matchTokens(name string) bool {
	if last := s.tokens[len(s.tokens)-1]; last.kind == literal && !strings.HasSuffix(name, last.text) {
		return false
	}
	again, from := -1, 0 // the token after the last star, and the offset where it was tried
	for i, at := 0, 0; i < len(s.tokens) || at < len(name); {
		if i < len(s.tokens) && s.tokens[i].kind == star {
			i++
			again, from = i, at
			continue
		}
		if i < len(s.tokens) {
			if size := s.tokens[i].size(name[at:], s.dialect); size > 0 {
				i, at = i+1, at+size
				continue
			}
		}
		if again < 0 || from >= len(name) {
			return false
		}
		_, size := nextChar(name[from:], s.dialect)
		from += size
		if again < len(s.tokens) && s.tokens[again].kind == literal {
			skip := strings.Index(name[from:], s.tokens[again].text)
			if skip < 0 {
				return false
			}
			from += skip
		}
		i, at = again, from
	}
	return true
}

// size returns how many bytes at the start of name the token matches, or 0.
func (t *token) size(name string, d dialect) int {
	if t.kind == literal {
		if strings.HasPrefix(name, t.text) {
			return len(t.text)
		}
		return 0
	}
	if name == "" {
		return 0
	}
	c, size := nextChar(name, d)
	if t.kind == charClass && !t.set.contains(c) {
		return 0
	}
	return size
}

// nextChar returns the first character of a name. A byte that is not valid UTF-8 is
// a character that no range contains.
func nextChar(name string, d dialect) (rune, int) {
	if !d.runes || name[0] < utf8.RuneSelf {
		return rune(name[0]), 1
	}
	c, size := utf8.DecodeRuneInString(name)
	if c == utf8.RuneError && size == 1 {
		return -1, 1
	}
	return c, size
}

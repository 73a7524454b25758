package ignore

import (
	"strings"
	"unicode"
)

// A class is a bracket expression: [a-z], [!a], [[:digit:]].
type class struct {
	negated bool
	fold    bool
	spans   []span
}

type span struct{ lo, hi rune }

func (c *class) contains(r rune) bool {
	if c.containsExact(r) {
		return !c.negated
	}
	if c.fold && r >= 0 {
		for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
			if c.containsExact(other) {
				return !c.negated
			}
		}
	}
	return c.negated
}

func (c *class) containsExact(r rune) bool {
	for _, s := range c.spans {
		if s.lo <= r && r <= s.hi {
			return true
		}
	}
	return false
}

// parseClass parses the class at the start of pattern and returns its length.
func parseClass(pattern string, d dialect) (*class, int, error) {
	set := &class{fold: d.fold}
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		set.negated = true
		i++
	}
	before := rune(-1) // the possible start of a range
	for first := true; ; first = false {
		if i >= len(pattern) {
			return nil, 0, errClass
		}
		rest := pattern[i:]
		switch {
		case rest[0] == ']' && !first:
			return set, i + 1, nil
		case rest[0] == '-' && before > 0 && len(rest) > 1 && rest[1] != ']':
			hi, size, err := classChar(rest[1:], d)
			if err != nil {
				return nil, 0, err
			}
			set.spans = append(set.spans, span{before, hi})
			i, before = i+1+size, -1
		case strings.HasPrefix(rest, "[:"):
			spans, size, err := namedClass(rest)
			if err != nil {
				return nil, 0, err
			}
			set.spans = append(set.spans, spans...)
			i, before = i+size, -1
			if spans == nil { // an ordinary bracket
				set.spans = append(set.spans, span{'[', '['})
				before = '['
			}
		default:
			c, size, err := classChar(rest, d)
			if err != nil {
				return nil, 0, err
			}
			set.spans = append(set.spans, span{c, c})
			i, before = i+size, c
		}
	}
}

// classChar reads one character of a class, which may be escaped.
func classChar(rest string, d dialect) (rune, int, error) {
	escaped := 0
	if rest[0] == '\\' {
		escaped = 1
		if len(rest) == 1 {
			return 0, 0, errClass
		}
	}
	c, size := nextChar(rest[escaped:], d)
	return c, size + escaped, nil
}

// namedClass reads [:name:]. If the closing colon is missing, the bracket is an
// ordinary character, and the result is nil with length 1.
func namedClass(rest string) ([]span, int, error) {
	end := strings.IndexByte(rest, ']')
	if end < 0 {
		return nil, 0, errClass
	}
	name, ok := strings.CutSuffix(rest[2:end], ":")
	if !ok {
		return nil, 1, nil
	}
	spans := posixClass(name)
	if spans == nil {
		return nil, 0, errClass
	}
	return spans, end + 1, nil
}

func posixClass(name string) []span {
	switch name {
	case "alnum":
		return []span{{'0', '9'}, {'A', 'Z'}, {'a', 'z'}}
	case "alpha":
		return []span{{'A', 'Z'}, {'a', 'z'}}
	case "blank":
		return []span{{' ', ' '}, {'\t', '\t'}}
	case "cntrl":
		return []span{{0, 31}, {127, 127}}
	case "digit":
		return []span{{'0', '9'}}
	case "graph":
		return []span{{'!', '~'}}
	case "lower":
		return []span{{'a', 'z'}}
	case "print":
		return []span{{' ', '~'}}
	case "punct":
		return []span{{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}}
	case "space":
		return []span{{'\t', '\r'}, {' ', ' '}}
	case "upper":
		return []span{{'A', 'Z'}}
	case "xdigit":
		return []span{{'0', '9'}, {'A', 'F'}, {'a', 'f'}}
	}
	return nil
}

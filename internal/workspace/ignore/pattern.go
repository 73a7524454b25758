package ignore

import (
	"errors"
	"path"
	"strings"
	"unicode/utf8"
)

// Errors of invalid patterns.
var (
	errEmpty = errors.New("it is empty")
	errClass = errors.New("a [ has no closing ], or its class is unknown")
	errSlash = errors.New("it ends with a single \\")
	errSteps = errors.New("it has an empty step, as in a//b")
)

// A rule is one pattern of a list.
type rule struct {
	position int       // in the list, from 1
	keep     bool      // it began with "!"
	dirs     bool      // it matches directories only
	head     []segment // matches the directory of the name; a segment may match any number of steps
	last     segment   // matches the name
}

// parseRule parses a pattern in the syntax of ignore files. If fold is set, names are folded, and so is the pattern.
func parseRule(pattern string, fold bool) (rule, error) {
	var r rule
	pattern, r.keep = strings.CutPrefix(pattern, "!")
	pattern, r.dirs = strings.CutSuffix(pattern, "/")
	rooted := strings.Contains(pattern, "/")
	err := r.parse(strings.TrimPrefix(pattern, "/"), rooted, fold)
	return r, err
}

// parse parses the steps of a pattern. A pattern that is not rooted matches names in any directory.
func (r *rule) parse(pattern string, rooted, fold bool) error {
	if pattern == "" {
		return errEmpty
	}
	steps, err := steps(pattern)
	if err != nil {
		return err
	}
	if !rooted {
		r.head = append(r.head, segment{kind: anyDirs})
	}
	for i, step := range steps {
		seg, err := parseSegment(step, fold)
		if err != nil {
			return err
		}
		isLast := i == len(steps)-1
		if len(step) > 1 && strings.Trim(step, "*") == "" {
			if n := len(r.head); n == 0 || r.head[n-1].kind != anyDirs {
				r.head = append(r.head, segment{kind: anyDirs})
			}
			if !isLast {
				continue
			}
		}
		if isLast {
			r.last = seg
		} else {
			r.head = append(r.head, seg)
		}
	}
	return nil
}

// steps splits a pattern at its slashes, including escaped ones, but not at those in a class.
func steps(pattern string) ([]string, error) {
	var all []string
	from := 0
	for i := 0; i <= len(pattern); i++ {
		end := i
		switch {
		case i == len(pattern) || pattern[i] == '/':
		case pattern[i] == '\\' && i+1 == len(pattern):
			return nil, errSlash
		case pattern[i] == '\\':
			if i++; pattern[i] != '/' {
				continue
			}
		case pattern[i] == '[':
			_, size, err := parseClass(pattern[i:], false)
			if err != nil {
				return nil, err
			}
			i += size - 1
			continue
		default:
			continue
		}
		if end == from {
			return nil, errSteps
		}
		all, from = append(all, pattern[from:end]), i+1
	}
	return all, nil
}

// anywhere reports whether the rule applies in every directory.
func (r *rule) anywhere() bool { return len(r.head) == 1 && r.head[0].kind == anyDirs }

// literalHead returns the only directory with matches of the rule, if it has no wildcards.
func (r *rule) literalHead() (string, bool) {
	var dir []string
	for _, seg := range r.head {
		if seg.kind != exact {
			return "", false
		}
		dir = append(dir, seg.text)
	}
	return strings.Join(dir, "/"), true
}

// slow reports whether the rule cannot be indexed.
func (r *rule) slow() bool {
	_, literal := r.literalHead()
	return r.last.kind == general || !literal && !r.anywhere()
}

// within reports whether the rule applies to the names in dir; "" is the directory of the list.
func (r *rule) within(dir string) bool {
	star, retry := -1, ""
	for i := 0; ; {
		if i < len(r.head) && r.head[i].kind == anyDirs {
			star, retry = i, dir
			i++
			continue
		}
		if dir == "" {
			return i == len(r.head)
		}
		step, rest, _ := strings.Cut(dir, "/")
		if i < len(r.head) && r.head[i].match(step) {
			i, dir = i+1, rest
			continue
		}
		if star < 0 {
			return false
		}
		// Let ** match one more step.
		_, retry, _ = strings.Cut(retry, "/")
		i, dir = star+1, retry
	}
}

// mayContain reports whether the rule may match names at any depth below dir.
func (r *rule) mayContain(dir string) bool {
	for i := 0; dir != ""; i++ {
		var step string
		if i < len(r.head) && r.head[i].kind == anyDirs {
			return true
		}
		step, dir, _ = strings.Cut(dir, "/")
		if i >= len(r.head) || !r.head[i].match(step) {
			return false
		}
	}
	return true
}

// A segment is the pattern for one step of a name.
type segment struct {
	kind segmentKind
	text string // for general in the syntax of path.Match
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

// parseSegment parses the pattern for one step.
func parseSegment(pattern string, folded bool) (segment, error) {
	var glob strings.Builder
	var literal []byte // that was not written to glob yet
	text := ""         // all literals
	stars, first, other := 0, false, false
	flush := func() {
		word := string(literal)
		if folded {
			word = fold(word)
		}
		text += word
		glob.WriteString(escapePath(word))
		literal = literal[:0]
	}
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; c {
		case '*':
			flush()
			if i == 0 || pattern[i-1] != '*' || !strings.HasSuffix(glob.String(), "*") {
				glob.WriteByte('*')
				stars++
			}
			first = first || text == "" && !other
		case '?':
			flush()
			glob.WriteByte('?')
			other = true
		case '[':
			flush()
			set, size, err := parseClass(pattern[i:], folded)
			if err != nil {
				return segment{}, err
			}
			glob.WriteString(set.String())
			i += size - 1
			other = true
		case '\\':
			if i++; i == len(pattern) {
				return segment{}, errSlash
			}
			literal = append(literal, pattern[i])
		default:
			literal = append(literal, c)
		}
	}
	isLast := len(literal) == 0 // a star is last
	flush()
	switch {
	case other || stars > 1:
		return segment{general, glob.String()}, nil
	case stars == 0:
		return segment{exact, text}, nil
	case text == "":
		return segment{kind: every}, nil
	case first:
		return segment{suffix, text}, nil
	case isLast:
		return segment{prefix, text}, nil
	}
	return segment{general, glob.String()}, nil
}

// escapePath returns a pattern for path.Match that matches only the text itself.
func escapePath(text string) string {
	if !strings.ContainsAny(text, `\*?[`) {
		return text // as nearly all
	}
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(text)
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
		ok, err := path.Match(s.text, name)
		return ok && err == nil
	}
	return false
}

// A class is a bracket expression: [a-z], [!a], [[:digit:]].
type class struct {
	negated bool
	spans   []span
}

type span struct{ lo, hi rune }

// String returns the class in the syntax of path.Match.
func (c class) String() string {
	text := "["
	if c.negated {
		text = "[^"
	}
	for _, s := range c.spans {
		text += `\` + string(s.lo) + `-\` + string(s.hi)
	}
	return text + "]"
}

// parseClass parses the class at the start of pattern and returns its length. If fold is set, an upper-case letter of
// ASCII stands for the lower-case one, too.
func parseClass(pattern string, fold bool) (set class, size int, err error) {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		set.negated = true
		i++
	}
	add := func(lo, hi rune) {
		set.spans = append(set.spans, span{lo, hi})
		if lo, hi := max(lo, 'A'), min(hi, 'Z'); fold && lo <= hi {
			set.spans = append(set.spans, span{lo - 'A' + 'a', hi - 'A' + 'a'})
		}
	}
	before := rune(-1) // the possible start of a range
	for first := true; ; first = false {
		if i >= len(pattern) {
			return class{}, 0, errClass
		}
		rest := pattern[i:]
		if rest[0] == ']' && !first {
			return set, i + 1, nil
		}
		if name, _, ok := strings.Cut(rest, "]"); ok && strings.HasPrefix(name, "[:") && strings.HasSuffix(name, ":") {
			spans, known := posixClasses[name]
			if !known {
				return class{}, 0, errClass
			}
			for j := 0; j < len(spans); j += 2 {
				add(rune(spans[j]), rune(spans[j+1]))
			}
			i, before = i+len(name)+1, -1
			continue
		}
		isRange := rest[0] == '-' && before > 0 && len(rest) > 1 && rest[1] != ']'
		if isRange {
			rest = rest[1:]
		}
		rest = strings.TrimPrefix(rest, `\`)
		c, n := utf8.DecodeRuneInString(rest)
		if n == 0 || c == utf8.RuneError && n == 1 {
			return class{}, 0, errClass
		}
		if isRange {
			add(before, c)
			before = -1
		} else {
			add(c, c)
			before = c
		}
		i = len(pattern) - len(rest) + n
	}
}

// posixClasses has pairs of the first and the last character of each class.
var posixClasses = map[string]string{
	"[:alnum:": "09AZaz", "[:alpha:": "AZaz", "[:blank:": "  \t\t", "[:cntrl:": "\x00\x1f\x7f\x7f",
	"[:digit:": "09", "[:graph:": "!~", "[:lower:": "az", "[:print:": " ~", "[:punct:": "!/:@[`{~",
	"[:space:": "\t\r  ", "[:upper:": "AZ", "[:xdigit:": "09AFaf",
}

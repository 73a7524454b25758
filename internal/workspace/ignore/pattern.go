package ignore

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Errors of invalid patterns.
var (
	errEmpty = errors.New("it is empty")
	errClass = errors.New("a [ has no closing ], or its class is unknown")
	errSlash = errors.New("it ends with a single \\")
	errSteps = errors.New("it has an empty step, as in a//b")
)

// A dialect selects how a pattern is matched. The zero dialect is git's.
type dialect struct {
	runes bool // ? and [...] match a character, not a byte
	fold  bool // names are folded, so the pattern must be, too
}

// A rule is one pattern of a list.
type rule struct {
	position int       // in the list, from 1
	keep     bool      // it began with "!"
	dirs     bool      // it matches directories only
	head     []segment // matches the directory of the name; a segment may match any number of steps
	last     segment   // matches the name
}

// parseRule parses a pattern in the syntax of ignore files.
func parseRule(pattern string, d dialect) (rule, error) {
	var r rule
	pattern, r.keep = strings.CutPrefix(pattern, "!")
	pattern, r.dirs = strings.CutSuffix(pattern, "/")
	rooted := strings.Contains(pattern, "/")
	err := r.parse(strings.TrimPrefix(pattern, "/"), rooted, d)
	return r, err
}

// parse parses the steps of a pattern. A pattern that is not rooted matches names in
// any directory.
func (r *rule) parse(pattern string, rooted bool, d dialect) error {
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
		seg, err := parseSegment(step, d)
		if err != nil {
			return err
		}
		if len(step) > 1 && strings.Trim(step, "*") == "" && seg.kind == every {
			r.addDirs()
			if i < len(steps)-1 {
				continue
			}
		}
		if i == len(steps)-1 {
			r.last = seg
		} else {
			r.head = append(r.head, seg)
		}
	}
	return nil
}

func (r *rule) addDirs() {
	if n := len(r.head); n == 0 || r.head[n-1].kind != anyDirs {
		r.head = append(r.head, segment{kind: anyDirs})
	}
}

// steps splits a pattern at its slashes, including escaped ones, but not at those in
// a class.
func steps(pattern string) ([]string, error) {
	var all []string
	from := 0
	cut := func(end, next int) error {
		if end == from {
			return errSteps
		}
		all = append(all, pattern[from:end])
		from = next
		return nil
	}
	for i := 0; i < len(pattern); i++ {
		var err error
		switch pattern[i] {
		case '/':
			err = cut(i, i+1)
		case '\\':
			if i++; i == len(pattern) {
				err = errSlash
			} else if pattern[i] == '/' {
				err = cut(i-1, i+1)
			}
		case '[':
			var size int
			_, size, err = parseClass(pattern[i:], dialect{})
			i += size - 1
		}
		if err != nil {
			return nil, err
		}
	}
	return all, cut(len(pattern), len(pattern))
}

// anywhere reports whether the rule applies in every directory.
func (r *rule) anywhere() bool { return len(r.head) == 1 && r.head[0].kind == anyDirs }

// literalHead returns the only directory in which the rule applies, if it has no
// wildcards.
func (r *rule) literalHead() (string, bool) {
	var dir strings.Builder
	for i, seg := range r.head {
		if seg.kind != exact {
			return "", false
		}
		if i > 0 {
			dir.WriteByte('/')
		}
		dir.WriteString(seg.text)
	}
	return dir.String(), true
}

// slow reports whether the rule cannot be indexed.
func (r *rule) slow() bool {
	if r.last.kind == general {
		return true
	}
	_, literal := r.literalHead()
	return !literal && !r.anywhere()
}

// within reports whether the rule applies to the names in dir; "" is the directory
// of the list.
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

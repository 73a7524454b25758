package clients

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// A tomlDoc is a TOML file split into statements: enough to see which belong to a
// table and where each begins and ends.
type tomlDoc struct {
	src        []byte
	statements []tomlStatement
	comments   []span
}

// A tomlStatement is a table header or a key with its value.
type tomlStatement struct {
	span
	header bool
	list   bool     // a header in double brackets
	path   []string // of the table, or of the key within the whole file
	table  []string // the table that a key stands in
	value  any      // of a key: string, []any, fields or rawTOML
	text   span     // of the value
}

// rawTOML is a number, a boolean or a time as it is in the file.
type rawTOML string

// tomlScalar matches unquoted values.
var tomlScalar = rule(`^(true|false|[+-]?(inf|nan)` +
	`|0x[0-9A-Fa-f_]+|0o[0-7_]+|0b[01_]+` +
	`|[+-]?[0-9][0-9_]*(\.[0-9][0-9_]*)?([eE][+-]?[0-9][0-9_]*)?` +
	`|[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ][0-9:]{5,8}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})?)?` +
	`|[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?)$`)

// maxNesting is the max depth of lists and inline tables.
const maxNesting = 100

// parseTOML splits src into statements.
func parseTOML(src []byte) (*tomlDoc, error) {
	for i, size := 0, 0; i < len(src); i += size {
		var r rune
		if r, size = utf8.DecodeRune(src[i:]); r == utf8.RuneError && size == 1 {
			return nil, syntaxError(src, i, "the file is not UTF-8 text")
		}
	}
	s := &tomlScanner{src: src, doc: &tomlDoc{src: src}}
	if bytes.HasPrefix(src, bom) {
		s.pos = len(bom)
	}
	var table []string
	for {
		s.blank(true)
		if s.pos >= len(src) {
			return s.doc, nil
		}
		st, err := s.statement(table)
		if err != nil {
			return nil, err
		}
		if st.header {
			table = st.path
		}
		s.doc.statements = append(s.doc.statements, st)
		if s.blank(false); s.pos < len(src) && !s.lineEnd() {
			return nil, s.fail("a new line should begin here")
		}
	}
}

type tomlScanner struct {
	src []byte
	doc *tomlDoc
	pos int
}

func (s *tomlScanner) fail(format string, args ...any) error {
	return syntaxError(s.src, s.pos, format, args...)
}

// peek returns the next byte, 0 at the end.
func (s *tomlScanner) peek() byte {
	if s.pos < len(s.src) {
		return s.src[s.pos]
	}
	return 0
}

// take skips text if it comes next, and reports whether it did.
func (s *tomlScanner) take(text string) bool {
	if !bytes.HasPrefix(s.src[s.pos:], []byte(text)) {
		return false
	}
	s.pos += len(text)
	return true
}

func (s *tomlScanner) lineEnd() bool {
	return s.peek() == '\n' || bytes.HasPrefix(s.src[s.pos:], []byte("\r\n"))
}

// blank skips white space and comments, and line ends too if asked to.
func (s *tomlScanner) blank(lines bool) {
	for s.pos < len(s.src) {
		switch {
		case s.peek() == ' ' || s.peek() == '\t':
			s.pos++
		case lines && s.lineEnd():
			s.pos += bytes.IndexByte(s.src[s.pos:], '\n') + 1
		case s.peek() == '#':
			start := s.pos
			if n := bytes.IndexByte(s.src[s.pos:], '\n'); n >= 0 {
				s.pos += n
			} else {
				s.pos = len(s.src)
			}
			text := bytes.TrimRight(s.src[start:s.pos], "\r")
			s.doc.comments = append(s.doc.comments, span{start, start + len(text)})
		default:
			return
		}
	}
}

func (s *tomlScanner) statement(table []string) (tomlStatement, error) {
	st := tomlStatement{span: span{start: s.pos}}
	if s.peek() == '[' {
		return s.header(st)
	}
	key, err := s.key()
	if err != nil {
		return st, err
	}
	st.table = table
	st.path = append(append([]string{}, table...), key...)
	if s.blank(false); !s.take("=") {
		return st, s.fail("%q should be followed by \"=\" and a value", strings.Join(key, "."))
	}
	s.blank(false)
	st.text.start = s.pos
	st.value, err = s.value(0)
	st.text.end, st.end = s.pos, s.pos
	return st, err
}

func (s *tomlScanner) header(st tomlStatement) (tomlStatement, error) {
	st.header = true
	st.list = s.take("[[")
	end := "]]"
	if !st.list {
		s.take("[")
		end = "]"
	}
	var err error
	s.blank(false)
	if st.path, err = s.key(); err != nil {
		return st, err
	}
	if s.blank(false); !s.take(end) {
		return st, s.fail("the name of a table should end with %q", end)
	}
	st.end = s.pos
	return st, nil
}

// key reads a dotted key.
func (s *tomlScanner) key() ([]string, error) {
	var path []string
	for {
		s.spaces()
		part, err := s.keyPart()
		if err != nil {
			return nil, err
		}
		path = append(path, part)
		at := s.pos
		if s.spaces(); !s.take(".") {
			s.pos = at
			return path, nil
		}
	}
}

func (s *tomlScanner) spaces() {
	for s.peek() == ' ' || s.peek() == '\t' {
		s.pos++
	}
}

func (s *tomlScanner) keyPart() (string, error) {
	if c := s.peek(); c == '"' || c == '\'' {
		return s.line(c)
	}
	start := s.pos
	for c := s.peek(); c == '-' || c == '_' || isAlnum(c); c = s.peek() {
		s.pos++
	}
	if s.pos == start {
		return "", s.fail("a key should stand here")
	}
	return string(s.src[start:s.pos]), nil
}

func isAlnum(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}

func (s *tomlScanner) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, s.fail("lists are nested more than %d deep", maxNesting)
	}
	switch c := s.peek(); {
	case s.take(`"""`):
		return s.lines(`"""`)
	case s.take(`'''`):
		return s.lines(`'''`)
	case c == '"' || c == '\'':
		return s.line(c)
	case s.take("["):
		return s.array(depth)
	case s.take("{"):
		return s.inlineTable(depth)
	}
	start := s.pos
	for c := s.peek(); isAlnum(c) || c != 0 && strings.IndexByte("+-_.:", c) >= 0; c = s.peek() {
		s.pos++
	}
	// A date and a time may have a space between them.
	if s.pos-start == len("2006-01-02") && s.pos+1 < len(s.src) && s.peek() == ' ' && '0' <= s.src[s.pos+1] &&
		s.src[s.pos+1] <= '9' {
		for s.pos++; isAlnum(s.peek()) || strings.IndexByte("+-.:", s.peek()) >= 0; {
			s.pos++
		}
	}
	text := string(s.src[start:s.pos])
	if !tomlScalar().MatchString(text) {
		s.pos = start
		return nil, s.fail("a value should stand here; text needs quotes")
	}
	return rawTOML(text), nil
}

func (s *tomlScanner) array(depth int) (any, error) {
	out := []any{}
	for {
		if s.blank(true); s.take("]") {
			return out, nil
		}
		item, err := s.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
		if s.blank(true); !s.take(",") && s.peek() != ']' {
			return nil, s.fail("a list continues with \",\" or ends with \"]\"")
		}
	}
}

func (s *tomlScanner) inlineTable(depth int) (any, error) {
	out := fields{}
	for {
		if s.blank(true); s.take("}") {
			return out, nil
		}
		key, err := s.key()
		if err != nil {
			return nil, err
		}
		if s.blank(false); !s.take("=") {
			return nil, s.fail("%q should be followed by \"=\" and a value", strings.Join(key, "."))
		}
		s.blank(false)
		item, err := s.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, field{strings.Join(key, "."), item})
		if s.blank(true); !s.take(",") && s.peek() != '}' {
			return nil, s.fail("an inline table continues with \",\" or ends with \"}\"")
		}
	}
}

package markdown

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// flow reads what is in quotes or brackets from the column on, also over
// several lines, and in brackets a plain scalar too. JSON is read by this.
func (y *yaml) flow(depth int) (any, error) {
	if depth > maxDepth {
		return nil, y.fail("this is nested more than %d deep", maxDepth)
	}
	switch y.peek() {
	case '[':
		return y.flowList(depth)
	case '{':
		return y.flowFields(depth)
	case '"', '\'':
		return y.quoted()
	}
	return y.flowPlain()
}

// peek is the byte at the column, 0 at the end of the line.
func (y *yaml) peek() byte {
	if y.over() || y.col >= len(y.lines[y.at]) {
		return 0
	}
	return y.lines[y.at][y.col]
}

// space goes to the next thing inside of brackets.
func (y *yaml) space() error {
	for !y.over() {
		switch c := y.peek(); {
		case c == ' ' || c == '\t':
			y.col++
		case c == 0 || c == '#' && (y.col == 0 || spaceAt(y.lines[y.at], y.col-1)):
			y.at, y.col = y.at+1, 0
		default:
			return nil
		}
	}
	y.at = y.open
	return y.fail("a bracket is not closed")
}

// finish leaves the line in which something in quotes or brackets ended.
func (y *yaml) finish() error {
	rest := y.lines[y.at][y.col:]
	text := strings.TrimLeft(rest, " \t")
	if text != "" && (text[0] != '#' || len(text) == len(rest)) {
		return y.fail("nothing but a comment may follow the closing quote or bracket")
	}
	y.at, y.col = y.at+1, 0
	return nil
}

// separated reads what is between two elements, and reports whether the
// closing bracket was there.
func (y *yaml) separated(closing byte) (bool, error) {
	if err := y.space(); err != nil {
		return false, err
	}
	switch y.peek() {
	case closing:
		y.col++
		return true, nil
	case ',':
		y.col++
		return false, y.space()
	}
	return false, y.fail("a comma or %c is expected", closing)
}

func (y *yaml) flowList(depth int) (any, error) {
	list := []any{}
	y.col++
	if err := y.space(); err != nil {
		return nil, err
	}
	for y.peek() != ']' {
		value, err := y.flow(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
		if closed, err := y.separated(']'); closed || err != nil {
			return list, err
		}
	}
	y.col++
	return list, nil
}

func (y *yaml) flowFields(depth int) (any, error) {
	fields := Fields{}
	seen := map[string]int{}
	y.col++
	if err := y.space(); err != nil {
		return nil, err
	}
	for y.peek() != '}' {
		field, err := y.flowField(depth)
		if err != nil {
			return nil, err
		}
		if before, twice := seen[field.Key]; twice {
			return nil, y.fail("the key %q is in line %d already", field.Key, before)
		}
		seen[field.Key] = field.Line
		fields = append(fields, field)
		if closed, err := y.separated('}'); closed || err != nil {
			return fields, err
		}
	}
	y.col++
	return fields, nil
}

func (y *yaml) flowField(depth int) (Field, error) {
	f := Field{Line: y.at + 1}
	start, from := y.at, y.col
	key, err := y.flowKey()
	if err != nil {
		return f, err
	}
	if y.at == start && y.col == from || key == "<<" {
		return f, y.fail("a key is expected")
	}
	f.Key = key
	if err := y.space(); err != nil {
		return f, err
	}
	if y.peek() != ':' {
		return f, y.fail("a colon is expected after the key %q", key)
	}
	y.col++
	if err := y.space(); err != nil {
		return f, err
	}
	if c := y.peek(); c == ',' || c == '}' {
		return f, nil
	}
	f.Value, err = y.flow(depth + 1)
	return f, err
}

func (y *yaml) flowKey() (string, error) {
	if c := y.peek(); c == '"' || c == '\'' {
		return y.quoted()
	}
	return y.flowText()
}

func (y *yaml) flowPlain() (any, error) {
	text, err := y.flowText()
	if err != nil {
		return nil, err
	}
	return resolve(text), nil
}

// flowText takes a plain scalar up to the mark that ends it.
func (y *yaml) flowText() (string, error) {
	line := y.lines[y.at][y.col:]
	if strings.IndexByte("?:", line[0]) >= 0 {
		return "", y.fail("text in brackets that begins with %c has to be in quotes", line[0])
	}
	end := 0
	for end < len(line) && strings.IndexByte(",[]{}", line[end]) < 0 {
		if line[end] == ':' && (spaceAt(line, end+1) || strings.IndexByte(",[]{}", line[end+1]) >= 0) {
			break
		}
		if line[end] == '#' && end > 0 && spaceAt(line, end-1) {
			break
		}
		end++
	}
	text := strings.TrimRight(line[:end], " \t")
	if text == "" {
		return "", y.fail("a value is expected")
	}
	y.col += end
	return text, y.plainStart(text)
}

// quoted reads a scalar in single or double quotes. Where its lines break
// there is a space, and as many newlines as there are empty lines.
func (y *yaml) quoted() (string, error) {
	mark, open := y.peek(), y.at
	var b strings.Builder
	y.col++
	end, of := 0, -1 // where the line ends but for white space, and which that is
	for {
		if !y.over() && of != y.at {
			end, of = len(strings.TrimRight(y.lines[y.at], " \t")), y.at
		}
		if y.over() || y.col >= end && !y.wrap(&b) {
			y.at = open
			return "", y.fail("the text in quotes is not closed")
		}
		if of != y.at {
			continue
		}
		line := y.lines[y.at]
		c := line[y.col]
		y.col++
		switch {
		case c == mark && mark == '\'' && y.peek() == '\'':
			b.WriteByte(c)
			y.col++
		case c == mark:
			return b.String(), nil
		case c == '\\' && mark == '"':
			if err := y.escape(&b); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
		}
	}
}

// wrap goes from the end of a line to the next that has something.
func (y *yaml) wrap(b *strings.Builder) bool {
	for gaps := 0; ; gaps++ {
		if y.at++; y.over() {
			return false
		}
		if text := strings.TrimLeft(y.lines[y.at], " \t"); text != "" {
			fold(b, gaps)
			y.col = len(y.lines[y.at]) - len(text)
			return true
		}
	}
}

// escape reads what is after a backslash.
func (y *yaml) escape(b *strings.Builder) error {
	const names, meant = `"\/abefnrtvN_ LP`, "\"\\/\a\b\x1b\f\n\r\t\v\u0085\u00a0 \u2028\u2029"
	c := y.peek()
	y.col++
	switch c {
	case 0: // the line goes on in the next
		var gaps strings.Builder
		if !y.wrap(&gaps) {
			return y.fail("the text in quotes is not closed")
		}
		b.WriteString(strings.TrimLeft(gaps.String(), " "))
		return nil
	case 'x':
		return y.code(b, 2)
	case 'u':
		return y.code(b, 4)
	case 'U':
		return y.code(b, 8)
	}
	at := strings.IndexByte(names, c)
	if at < 0 {
		return y.fail(`there is no escape \%c; write \\ for a backslash, or use single quotes`, c)
	}
	b.WriteRune([]rune(meant)[at])
	return nil
}

// code reads the digits of a character, and of its other half.
func (y *yaml) code(b *strings.Builder, digits int) error {
	r, ok := y.hex(digits)
	if utf16.IsSurrogate(r) && digits == 4 && strings.HasPrefix(y.lines[y.at][y.col:], `\u`) {
		y.col += 2
		low, _ := y.hex(4)
		r = utf16.DecodeRune(r, low)
		ok = ok && r != utf8.RuneError
	}
	if !ok || r == 0 || !utf8.ValidRune(r) {
		return y.fail("the escape is no character that is allowed")
	}
	b.WriteRune(r)
	return nil
}

func (y *yaml) hex(digits int) (rune, bool) {
	line := y.lines[y.at][y.col:]
	if len(line) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(line[:digits], 16, 31)
	y.col += digits
	return rune(n), err == nil
}

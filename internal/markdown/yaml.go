package markdown

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// yaml is at a line of front matter. Each of its methods that reads something
// leaves it behind that.
type yaml struct {
	lines []string // with the opening --- as line 0
	at    int
	col   int // where in the line, while reading quotes and brackets
	open  int // the line in which the outermost bracket was opened
}

func (y *yaml) fail(format string, args ...any) error {
	return &SyntaxError{min(y.at, len(y.lines)-1) + 1, fmt.Sprintf(format, args...)}
}

// check refuses characters that YAML does not have.
func (y *yaml) check() error {
	for i, line := range y.lines {
		if !utf8.ValidString(line) {
			return &SyntaxError{i + 1, "this is not valid UTF-8"}
		}
		if c := strings.IndexFunc(line, forbidden); c >= 0 {
			r, _ := utf8.DecodeRuneInString(line[c:])
			return &SyntaxError{i + 1, fmt.Sprintf("the character %U is not allowed here", r)}
		}
	}
	return nil
}

func forbidden(r rune) bool { return unicode.IsControl(r) && r != '\t' && r != 0x85 }

// root reads the whole.
func (y *yaml) root() (Fields, error) {
	columns, err := y.skip()
	if err != nil || y.over() {
		return nil, err
	}
	if !strings.HasPrefix(y.lines[y.at][columns:], "{") {
		fields, err := y.fields(columns, 1)
		if err == nil && !y.over() {
			err = y.fail("this is indented less than the first key")
		}
		return fields, err
	}
	y.col, y.open = columns, y.at
	value, err := y.flow(1)
	if err == nil {
		err = y.finish()
	}
	if err != nil {
		return nil, err
	}
	if _, err := y.skip(); err != nil {
		return nil, err
	}
	if !y.over() {
		return nil, y.fail("something follows the closing }")
	}
	return value.(Fields), nil
}

func (y *yaml) over() bool { return y.at >= len(y.lines) }

// skip goes to the next line that has something, and says how far that is
// indented.
func (y *yaml) skip() (int, error) {
	for ; !y.over(); y.at++ {
		line := y.lines[y.at]
		rest := strings.TrimLeft(line, " ")
		if text := strings.TrimLeft(rest, "\t"); text == "" || text[0] == '#' {
			continue
		}
		if rest[0] == '\t' {
			return 0, y.fail("a tab cannot indent; use spaces")
		}
		return len(line) - len(rest), nil
	}
	return -1, nil
}

// dash reports whether a line without indentation is an item of a list.
func dash(line string) bool {
	return line == "-" || strings.HasPrefix(line, "- ") || strings.HasPrefix(line, "-\t")
}

// fields reads a map whose keys are indented by n.
func (y *yaml) fields(n, depth int) (Fields, error) {
	if depth > maxDepth {
		return nil, y.fail("this is nested more than %d deep", maxDepth)
	}
	var fields Fields
	seen := map[string]int{}
	for {
		columns, err := y.skip()
		if err != nil || columns < n {
			return fields, err
		}
		if columns > n {
			return nil, y.fail("this is indented deeper than the key above it, which has a value already")
		}
		line := y.lines[y.at][n:]
		if dash(line) {
			return nil, y.fail("an item of a list stands where a key is expected")
		}
		no := y.at + 1
		key, end, err := y.key(line)
		if err != nil {
			return nil, err
		}
		if before, twice := seen[key]; twice {
			return nil, y.fail("the key %q is in line %d already", key, before)
		}
		seen[key] = no
		value, err := y.value(n, n+end, depth, true)
		if err != nil {
			return nil, err
		}
		fields = append(fields, Field{key, value, no})
	}
}

// keyEnd is where the key ends that a line begins with; its colon is there.
func keyEnd(line string) (int, bool) {
	at := 0
	if line != "" && (line[0] == '"' || line[0] == '\'') {
		for at = 1; at < len(line) && line[at] != line[0]; at++ {
			if line[0] == '"' && line[at] == '\\' {
				at++
			}
		}
		at++
		for at < len(line) && line[at] == ' ' {
			at++
		}
		return at, at < len(line) && line[at] == ':' && spaceAt(line, at+1)
	}
	for ; at < len(line); at++ {
		switch {
		case line[at] == ':' && spaceAt(line, at+1):
			return at, at > 0
		case line[at] == '#' && at > 0 && spaceAt(line, at-1):
			return 0, false
		}
	}
	return 0, false
}

// spaceAt reports whether there is white space, or the end of the line.
func spaceAt(line string, at int) bool {
	return at >= len(line) || line[at] == ' ' || line[at] == '\t'
}

// key reads the key of a line, and says where its value begins.
func (y *yaml) key(line string) (string, int, error) {
	const longest = 200
	end, ok := keyEnd(line)
	if !ok {
		return "", 0, y.fail("a key with a colon and a space after it is expected, as in name: value")
	}
	key := strings.TrimRight(line[:end], " \t")
	if key[0] == '"' || key[0] == '\'' {
		quoted := &yaml{lines: []string{key}}
		text, err := quoted.quoted()
		if err != nil || quoted.at > 0 || quoted.col != len(key) {
			return "", 0, y.fail("the quoted key cannot be read")
		}
		key = text
	} else if err := y.plainStart(key); err != nil {
		return "", 0, err
	}
	if key == "<<" || len(key) > longest {
		return "", 0, y.fail("a key has at most %d bytes and is not <<", longest)
	}
	return key, end + 1, nil
}

// list reads a list whose dashes are indented by n.
func (y *yaml) list(n, depth int) ([]any, error) {
	if depth > maxDepth {
		return nil, y.fail("this is nested more than %d deep", maxDepth)
	}
	list := []any{}
	for {
		columns, err := y.skip()
		if err != nil || columns < n || columns == n && !dash(y.lines[y.at][n:]) {
			return list, err
		}
		if columns > n {
			return nil, y.fail("this is indented deeper than the list it is in")
		}
		value, err := y.item(n, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
}

// item reads what is behind a dash, or beneath it.
func (y *yaml) item(n, depth int) (any, error) {
	line := y.lines[y.at]
	rest := strings.TrimLeft(line[n+1:], " \t")
	_, isKey := keyEnd(rest)
	if isKey = isKey && strings.IndexByte("[{#|>", rest[0]) < 0; !isKey && !dash(rest) {
		return y.value(n, n+1, depth, false)
	}
	// What is behind the dash is indented as if that were a space.
	columns := len(line) - len(rest)
	y.lines[y.at] = strings.Repeat(" ", columns) + rest
	if isKey {
		return y.fields(columns, depth+1)
	}
	return y.list(columns, depth+1)
}

// value reads what begins at a column of the line, or beneath it, and belongs
// to what is indented by n.
func (y *yaml) value(n, col, depth int, ofKey bool) (any, error) {
	line := y.lines[y.at]
	text := strings.TrimLeft(line[col:], " \t")
	y.col = len(line) - len(text)
	if text == "" || text[0] == '#' {
		return y.beneath(n, depth, ofKey)
	}
	switch text[0] {
	case '|', '>':
		return y.literal(n, text)
	case '"', '\'', '[', '{':
		y.open = y.at
		value, err := y.flow(depth + 1)
		if err != nil {
			return nil, err
		}
		return value, y.finish()
	}
	return y.plain(n, text)
}

// beneath reads the map or list that stands in the lines below.
func (y *yaml) beneath(n, depth int, ofKey bool) (any, error) {
	y.at++
	columns, err := y.skip()
	if err != nil || y.over() {
		return nil, err
	}
	line := y.lines[y.at][columns:]
	switch {
	case dash(line) && (columns > n || ofKey && columns == n):
		return y.list(columns, depth+1)
	case columns > n:
		if _, isKey := keyEnd(line); !isKey || line[0] == '[' || line[0] == '{' {
			return y.value(n, columns, depth, false)
		}
		return y.fields(columns, depth+1)
	}
	return nil, nil
}

package markdown

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Field is one key of front matter with its value: nil, string, bool,
// [json.Number], []any or [Fields].
type Field struct {
	Key   string
	Value any
	Line  int // of the text, counting from 1; Write does not read it
}

// Fields are the keys of front matter, or of a map in it, in their order. None
// is there twice.
type Fields []Field

// Get finds the value of a key.
func (f Fields) Get(key string) (any, bool) {
	for _, field := range f {
		if field.Key == key {
			return field.Value, true
		}
	}
	return nil, false
}

// Text is the value of a key as text. It is "" without such a key, and where
// its value is a list or a map. Numbers keep their spelling: version 1.10.
func (f Fields) Text(key string) string {
	value, _ := f.Get(key)
	return scalarText(value)
}

// Texts is the value of a key as a list: of one, if it is no list. Lists and
// maps in the list, and what is empty, are left out.
func (f Fields) Texts(key string) []string {
	value, _ := f.Get(key)
	list, ok := value.([]any)
	if !ok {
		list = []any{value}
	}
	var texts []string
	for _, v := range list {
		if text := scalarText(v); text != "" {
			texts = append(texts, text)
		}
	}
	return texts
}

func scalarText(value any) string {
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	case bool:
		return fmt.Sprint(v)
	}
	return ""
}

// SyntaxError says in which line front matter is wrong, and how.
type SyntaxError struct {
	Line    int // of the text, counting from 1
	Problem string
}

// Error is the line and the problem.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Problem) }

const (
	maxMatter = 64 << 10 // bytes of front matter
	maxDepth  = 10       // maps and lists in each other
)

// FrontMatter takes a text apart into what is between the --- lines at its
// beginning, and the body after them, untouched, with the number of its first
// line. A text without front matter is all body. So is one that begins with a
// thematic break: front matter begins with a key, or { of JSON, in the line
// below ---, and nothing but comments may be between.
//
// Read is a subset of YAML, which has JSON in it: maps, lists, plain, quoted
// and block scalars, comments. Numbers are what JSON calls so; everything else
// is text, dates and yes and 007 too. Refused are keys that are there twice,
// anchors, aliases, tags, tabs as indentation, and more than 64 KiB. A plain
// value may have ": " in it, which YAML refuses, as people write that.
//
// The error is a [*SyntaxError]; the body is right also with one.
func FrontMatter(text string) (meta Fields, body string, bodyLine int, err error) {
	clean := strings.TrimPrefix(text, "\ufeff")
	if !opensMatter(clean) {
		return nil, text, 1, nil
	}
	last := closeOfMatter(clean)
	if last == 0 {
		return nil, text, 1, &SyntaxError{1, unclosed(clean)}
	}
	var lines []string
	r := read(clean, 0, 1)
	for ; r.no < last; r.step() {
		lines = append(lines, strings.TrimSuffix(r.line, "\r"))
	}
	r.step()
	body = clean[min(r.at, len(clean)):]
	y := &yaml{lines: lines, at: 1}
	if err := y.check(); err != nil {
		return nil, body, r.no, err
	}
	if meta, err = y.root(); err != nil {
		return nil, body, r.no, err
	}
	return meta, body, r.no, nil
}

func unclosed(text string) string {
	if len(text) > maxMatter {
		return fmt.Sprintf("the front matter is not closed by a line --- within %d KiB", maxMatter>>10)
	}
	return "the front matter is not closed by a line ---"
}

func bar(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// closesMatter reports whether a line stands at the end of front matter.
func closesMatter(line string) bool { return bar(line) || strings.TrimRight(line, " \t\r") == "..." }

// opensMatter reports whether a text without byte order mark begins like front
// matter.
func opensMatter(text string) bool {
	r := read(text, 0, 1)
	if r.over || !bar(r.line) {
		return false
	}
	for r.step(); strings.HasPrefix(r.line, "#") && r.at < maxMatter; r.step() {
	}
	line := strings.TrimRight(trimIndent(r.line), " \t\r")
	if closesMatter(r.line) || strings.HasPrefix(line, "{") {
		return true
	}
	first, _ := utf8.DecodeRuneInString(line)
	_, isKey := keyEnd(line)
	return isKey && (first == '"' || first == '\'' || first == '_' || unicode.IsLetter(first) || unicode.IsDigit(first))
}

// closeOfMatter is the number of the line that closes the front matter of a
// text, 0 if it has none.
func closeOfMatter(text string) int {
	if !opensMatter(text) {
		return 0
	}
	r := read(text, 0, 1)
	for r.step(); !r.over && r.at < maxMatter; r.step() {
		if closesMatter(r.line) {
			return r.no
		}
	}
	return 0
}

package markdown

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Write puts front matter before a body, so that [FrontMatter] reads the same
// from it. Beside what FrontMatter returns it takes int, int64, float64,
// []string and map[string]any, whose keys it sorts. The body stands as it is
// behind the closing line. Without fields the body is all, unless it would be
// read as front matter itself.
//
// What cannot be read back is an error: other types, keys that are there
// twice, text that is not valid UTF-8 or has a NUL, and what is too deep or
// too large.
func Write(meta Fields, body string) (string, error) {
	if len(meta) == 0 && !opensMatter(strings.TrimPrefix(body, "\ufeff")) {
		return body, nil
	}
	var w writer
	w.b.WriteString("---\n")
	w.fields(meta, 0, 1)
	w.b.WriteString("---\n")
	if w.err == nil && w.b.Len() > maxMatter {
		w.err = fmt.Errorf("front matter has at most %d KiB", maxMatter>>10)
	}
	if w.err != nil {
		return "", w.err
	}
	w.b.WriteString(body)
	return w.b.String(), nil
}

type writer struct {
	b   strings.Builder
	err error // the first
}

func (w *writer) fail(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

func (w *writer) deep(depth int) bool {
	if depth > maxDepth {
		w.fail("front matter is nested at most %d deep", maxDepth)
	}
	return w.err != nil
}

// check refuses keys that cannot be read back.
func (w *writer) check(fields Fields) {
	seen := make(map[string]bool, len(fields))
	for _, f := range fields {
		if seen[f.Key] {
			w.fail("the key %q is there twice", f.Key)
		}
		if len(f.Key) > 200 || f.Key == "<<" {
			w.fail("a key has at most 200 bytes and is not <<")
		}
		seen[f.Key] = true
	}
}

// fields writes a map in lines that are indented by n.
func (w *writer) fields(fields Fields, n, depth int) {
	w.check(fields)
	if w.deep(depth) {
		return
	}
	for _, f := range fields {
		w.b.WriteString(strings.Repeat(" ", n))
		if plainKey(f.Key) {
			w.b.WriteString(f.Key)
		} else {
			w.quote(f.Key)
		}
		w.b.WriteByte(':')
		w.value(f.Value, n, depth)
	}
}

// value writes what follows the colon of a key that is indented by n.
func (w *writer) value(value any, n, depth int) {
	switch v := known(value).(type) {
	case Fields:
		if len(v) > 0 {
			w.b.WriteByte('\n')
			w.fields(v, n+2, depth+1)
			return
		}
	case []any:
		if len(v) > 0 {
			w.b.WriteByte('\n')
			w.list(v, n+2, depth+1)
			return
		}
	case string:
		if isBlock(v) {
			w.block(v, n+2)
			return
		}
	}
	w.b.WriteByte(' ')
	w.scalar(value, depth)
	w.b.WriteByte('\n')
}

func (w *writer) list(list []any, n, depth int) {
	if w.deep(depth) {
		return
	}
	for _, v := range list {
		w.b.WriteString(strings.Repeat(" ", n) + "- ")
		w.scalar(v, depth)
		w.b.WriteByte('\n')
	}
}

// scalar writes a value into a line: a map or a list in brackets.
func (w *writer) scalar(value any, depth int) {
	if s, ok := value.(string); ok && isPlain(s) {
		w.b.WriteString(s)
		return
	}
	w.flow(value, depth+1)
}

// flow writes a value like JSON does.
func (w *writer) flow(value any, depth int) {
	if w.deep(depth) {
		return
	}
	switch v := known(value).(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case json.Number:
		if !isNumber(string(v)) {
			w.fail("%q is no number", v)
		}
		w.b.WriteString(string(v))
	case string:
		w.quote(v)
	case []any:
		w.b.WriteByte('[')
		for i, element := range v {
			w.comma(i)
			w.flow(element, depth+1)
		}
		w.b.WriteByte(']')
	case Fields:
		w.check(v)
		w.b.WriteByte('{')
		for i, f := range v {
			w.comma(i)
			w.quote(f.Key)
			w.b.WriteString(": ")
			w.flow(f.Value, depth+1)
		}
		w.b.WriteByte('}')
	case error:
		w.fail("%w", v)
	}
}

func (w *writer) comma(i int) {
	if i > 0 {
		w.b.WriteString(", ")
	}
}

// known is a value as one of the types that front matter has, or an error.
func known(value any) any {
	switch v := value.(type) {
	case nil, bool, string, json.Number, []any, Fields:
		return v
	case int:
		return json.Number(strconv.Itoa(v))
	case int64:
		return json.Number(strconv.FormatInt(v, 10))
	case float64:
		number := json.Number(strconv.FormatFloat(v, 'g', -1, 64))
		if !isNumber(string(number)) {
			return errors.New("a number has to be finite")
		}
		return number
	case []string:
		list := make([]any, len(v))
		for i, text := range v {
			list[i] = text
		}
		return list
	case map[string]any:
		var fields Fields
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, Field{Key: key, Value: v[key]})
		}
		return fields
	}
	return fmt.Errorf("front matter cannot have a %T", value)
}

// plainKey reports whether a key needs no quotes.
func plainKey(key string) bool {
	for i := range len(key) {
		if !letter(key[i]) && (i == 0 || !digit(key[i]) && key[i] != '-' && key[i] != '_' && key[i] != '.') {
			return false
		}
	}
	return key != ""
}

// isPlain reports whether a text in one line needs no quotes.
func isPlain(s string) bool {
	first, _ := utf8.DecodeRuneInString(s)
	if !unicode.IsLetter(first) && !unicode.IsDigit(first) && first != '/' && first != '.' || resolve(s) != any(s) {
		return false
	}
	return !strings.Contains(s, ": ") && !strings.Contains(s, " #") && !strings.HasSuffix(s, ":") &&
		!strings.HasSuffix(s, " ") && utf8.ValidString(s) && !strings.ContainsFunc(s, unseen)
}

// unseen are characters that are written as an escape.
func unseen(r rune) bool { return r != ' ' && !unicode.IsPrint(r) }

// isBlock reports whether a text reads best as lines of their own.
func isBlock(s string) bool {
	text := strings.TrimSuffix(s, "\n")
	if !strings.Contains(text, "\n") || strings.HasSuffix(text, "\n") || !utf8.ValidString(s) {
		return false
	}
	first := text[0]
	return first != ' ' && first != '\n' && first != '\t' &&
		!strings.ContainsFunc(s, func(r rune) bool { return r != '\n' && unseen(r) })
}

func (w *writer) block(s string, n int) {
	text, ended := strings.CutSuffix(s, "\n")
	w.b.WriteString(" |")
	if !ended {
		w.b.WriteByte('-')
	}
	for line := range strings.SplitSeq(text, "\n") {
		w.b.WriteByte('\n')
		if line != "" {
			w.b.WriteString(strings.Repeat(" ", n) + line)
		}
	}
	w.b.WriteByte('\n')
}

// quote writes a text in double quotes.
func (w *writer) quote(s string) {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		w.fail("the text %.40q is not valid UTF-8, or has a NUL", s)
	}
	w.b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			w.b.WriteByte('\\')
			w.b.WriteRune(r)
		case r == '\n':
			w.b.WriteString(`\n`)
		case r == '\t':
			w.b.WriteString(`\t`)
		case unseen(r) && r > 0xffff:
			fmt.Fprintf(&w.b, `\U%08x`, r)
		case unseen(r):
			fmt.Fprintf(&w.b, `\u%04x`, r)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}

package markdown

import (
	"strings"
	"unicode/utf8"
)

// normal returns the text as the rest of the package wants it: no byte order mark,
// lines that end with \n, valid UTF-8 without NUL (a database may refuse
// both). It has the same lines as the text.
func normal(text string) string {
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
	}
	return strings.ReplaceAll(text, "\x00", "\ufffd")
}

// A reader is at a line of a text. A copy of it reads ahead.
type reader struct {
	text string
	line string // without its newline
	at   int    // where the line begins
	no   int    // its number, from 1
	over bool   // behind the last line
}

// read begins at the offset at, which is in the line with the number no.
func read(text string, at, no int) reader {
	r := reader{text: text, at: at, no: no}
	r.load()
	return r
}

func (r *reader) load() {
	if r.at >= len(r.text) {
		r.line, r.over = "", true
		return
	}
	r.line, _, _ = strings.Cut(r.text[r.at:], "\n")
}

func (r *reader) step() {
	r.at += len(r.line) + 1
	r.no++
	r.load()
}

// end returns where the line ends.
func (r *reader) end() int { return r.at + len(r.line) }

// next returns the line after this one; "" behind the last.
func (r *reader) next() string {
	after := *r
	after.step()
	return after.line
}

func blank(line string) bool {
	return len(line) == 0 || line[0] <= ' ' && strings.TrimSpace(line) == "" ||
		line[0] >= utf8.RuneSelf && strings.TrimSpace(line) == ""
}

// indent counts the columns of white space that a line begins with, and its
// bytes. A tab reaches to the next column that four divides.
func indent(line string) (columns, bytes int) {
	for bytes < len(line) {
		switch line[bytes] {
		case ' ':
			columns++
		case '\t':
			columns += 4 - columns%4
		default:
			return columns, bytes
		}
		bytes++
	}
	return columns, bytes
}

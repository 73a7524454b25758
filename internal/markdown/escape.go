package markdown

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape returns plain text so that nothing in the middle of a line is markup. A text at the beginning of a line goes
// through [EscapeLine], too.
func Escape(text string) string {
	if !strings.ContainsAny(text, "\\`*_[<~&") {
		return text
	}
	var b strings.Builder
	for i := range len(text) {
		if IsMark(text, i, false) || isBracket(text, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// isBracket reports whether a link or a footnote begins.
func isBracket(text string, i int) bool {
	if text[i] != '[' {
		return false
	}
	end := strings.IndexByte(text[i:], ']')
	return strings.HasPrefix(text[i+1:], "^") || end > 0 && strings.HasPrefix(text[i+end+1:], "(")
}

// EscapeLine escapes the beginning of a line that would be a heading, an item, a quote, a table or a rule.
func EscapeLine(line string) string {
	if at := LineMark(line); at >= 0 {
		return line[:at] + `\` + line[at:]
	}
	return line
}

// IsMark reports whether the character at a byte of a text would be markup within a line: an emphasis, code, a tag, an
// entity, or a backslash that escapes. An open text has an unknown text before and after it. Brackets do not count.
func IsMark(text string, i int, open bool) bool {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+1:])
	atEnd := open && i+1 == len(text)
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }
	blank := func(r rune) bool { return r == utf8.RuneError && !open || unicode.IsSpace(r) }
	switch text[i] {
	case '`':
		return true
	case '\\':
		return atEnd || after < utf8.RuneSelf && strings.ContainsRune(escapable, after)
	case '*':
		return !blank(before) || !blank(after)
	case '_':
		return !(word(before) && word(after)) && !(blank(before) && blank(after))
	case '~':
		return before == '~' || after == '~'
	case '<':
		return atEnd || after < utf8.RuneSelf && (letter(byte(after)) || strings.ContainsRune("/!?", after))
	case '&':
		return atEnd || isEntity(text[i+1:])
	}
	return false
}

// escapable are the characters that a backslash escapes.
const escapable = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// isEntity reports whether an ampersand before rest begins a character reference.
func isEntity(rest string) bool {
	end := strings.IndexByte(rest[:min(len(rest), 40)], ';')
	return end > 0 && strings.Trim(strings.ToLower(rest[:end]), "abcdefghijklmnopqrstuvwxyz0123456789#") == ""
}

// LineMark returns the position of the character that would make a line a heading, an item, a quote, a table or a
// rule; -1 if there is none.
func LineMark(line string) int {
	if line == "" {
		return -1
	}
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	beforeBlank := func(at int) bool { return at+1 == len(line) || line[at+1] == ' ' || line[at+1] == '\t' }
	if digits > 0 {
		if digits < 10 && digits < len(line) && (line[digits] == '.' || line[digits] == ')') && beforeBlank(digits) {
			return digits
		}
		return -1
	}
	switch line[0] {
	case '>', '|':
		return 0
	case '*':
		if beforeBlank(0) {
			return 0
		}
	case '#':
		if after := strings.TrimLeft(line, "#"); after == "" || after[0] == ' ' {
			return 0
		}
	case '-', '+', '=':
		if beforeBlank(0) || strings.Trim(line, "-=_*|:+ ") == "" {
			return 0
		}
	}
	return -1
}

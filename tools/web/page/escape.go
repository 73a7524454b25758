package page

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/marker"
)

// hold keeps a text from the library, which would make every < an entity and
// mark every point, bracket and quote to look at it again later.
func hold(ctx converter.Context, text string) string {
	conversionOf(ctx).text = text
	return ""
}

// release gives the text back: what would be a mark within a line is escaped,
// and what may begin a line as one has the mark of the library before it, which
// decides when it knows the line.
func release(ctx converter.Context, _ string) string {
	c := conversionOf(ctx)
	return c.written(c.text)
}

// written is how a text is written.
func (c *conversion) written(text string) string {
	if c.plain {
		return text
	}
	return escape(text)
}

// escape writes text so that nothing in it is a mark of Markdown.
func escape(text string) string {
	if !strings.ContainsAny(text, "\\`*_[]<>&~|#(:!-+=.)") {
		return text
	}
	first := firstMark(text)
	var b strings.Builder
	b.Grow(len(text) + 8)
	for i := range len(text) {
		switch {
		case i == first || i == len(text)-1 && (text[i] == '!' || text[i] == '#'):
			b.WriteByte(byte(marker.MarkerEscaping))
		case forges(text, i):
			b.WriteByte('\\')
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// firstMark is where a text has what makes a heading, a list, a quote, a table or
// a rule of a line that begins with it; -1 is nowhere.
func firstMark(text string) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 0 && digits < 10 && digits < len(text) && (text[digits] == '.' || text[digits] == ')') {
		return digits
	}
	blank := len(text) == 1 || text[1] == ' '
	switch text[0] {
	case '>', '|', '(':
		return 0
	case '*':
		if blank {
			return 0
		}
	case '#':
		if after := strings.TrimLeft(text, "#"); after == "" || after[0] == ' ' {
			return 0
		}
	case '-', '+', '=', ':':
		if blank || strings.Trim(text, "-=_*|:+ ") == "" {
			return 0
		}
	}
	return -1
}

// forges reports whether a character of a text would be a mark within the line.
func forges(text string, i int) bool {
	rest := text[i+1:]
	last := byte(0)
	if i > 0 {
		last = text[i-1]
	}
	switch text[i] {
	case '`':
		return true
	case '\\':
		return rest == "" || strings.IndexByte(punctuation, rest[0]) >= 0
	case '*':
		return last != ' ' || rest == "" || rest[0] != ' '
	case '_':
		next, _ := utf8.DecodeRuneInString(rest)
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		return !(joinsWords(before) && joinsWords(next)) && !(last == ' ' && rest != "" && rest[0] == ' ')
	case '<':
		return rest == "" || rest[0] == '/' || rest[0] == '!' || rest[0] == '?' || isLetter(rest[0])
	case '&':
		return rest == "" || entity(rest)
	case '~':
		return strings.HasPrefix(rest, "~") || last == '~'
	case '(':
		return last == ']'
	case ':':
		return last == ']' && text[0] == '['
	}
	return false
}

// opensLine decides for the marks that the library knows nothing of: what makes
// something else of a bracket before it, and what tables and definitions begin
// with. No label is longer than it looks back.
func opensLine(text []byte, i int) int {
	line := bytes.TrimRight(text[max(0, i-1000):i], string(marker.MarkerEscaping))
	line = bytes.TrimLeft(line[bytes.LastIndexByte(line, '\n')+1:], " ")
	behind := bytes.HasSuffix(line, []byte("]"))
	switch text[i] {
	case '(':
		if behind {
			return 1
		}
	case '|', ':':
		if len(line) == 0 || behind && line[0] == '[' {
			return 1
		}
	}
	return -1
}

// punctuation is what a backslash escapes in Markdown.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// joinsWords reports whether an underscore beside a character is part of a word.
func joinsWords(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// entity reports whether what follows an ampersand makes it a character.
func entity(rest string) bool {
	end := strings.IndexByte(rest[:min(len(rest), 40)], ';')
	return end > 0 && strings.Trim(strings.ToLower(rest[:end]), "abcdefghijklmnopqrstuvwxyz0123456789#") == ""
}

// labels makes a text fit between the brackets of a link or a picture.
var labels = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`, "*", `\*`, "_", `\_`)

const (
	raised  = "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ"
	lowered = "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₙᵢ"
	level   = "0123456789+-=()ni"
)

// shifted writes a short text above or below the line, if there are characters
// for it.
func shifted(text, forms string) (string, bool) {
	to := []rune(forms)
	var b strings.Builder
	for _, r := range strings.ReplaceAll(text, "−", "-") {
		i := strings.IndexRune(level, r)
		if i < 0 {
			return "", false
		}
		b.WriteRune(to[i])
	}
	return b.String(), text != ""
}

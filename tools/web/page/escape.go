package page

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// punctuation is what a backslash escapes in Markdown.
const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// escape writes a word so that nothing in it is a mark. followed says that a
// blank comes behind it; if not, the text may go on in another element.
func (w *writer) escape(word string, followed bool) {
	if !strings.ContainsAny(word, "\\`*_[]<>&~|#(:") {
		w.buf = append(w.buf, word...)
		return
	}
	for i := 0; i < len(word); i++ {
		c := word[i]
		if w.forges(word, i, followed) {
			w.buf = append(w.buf, '\\')
		}
		w.buf = append(w.buf, c)
	}
}

// forges reports whether a character of a word would be a mark.
func (w *writer) forges(word string, i int, followed bool) bool {
	rest := word[i+1:]
	last := byte(' ')
	first := len(w.buf) == w.start
	if !first && len(w.buf) > 0 {
		last = w.buf[len(w.buf)-1]
	}
	switch word[i] {
	case '`':
		return true
	case '\\':
		return rest == "" && !followed || rest != "" && strings.IndexByte(punctuation, rest[0]) >= 0
	case '*':
		return !(last == ' ' && rest == "" && followed) || first
	case '_':
		next, _ := utf8.DecodeRuneInString(rest)
		before, _ := utf8.DecodeLastRune(w.buf[w.start:])
		return !(joinsWords(before) && joinsWords(next)) && !(rest == "" && followed && last == ' ')
	case '<':
		return rest != "" && (rest[0] == '/' || rest[0] == '!' || rest[0] == '?' || isLetter(rest[0])) || rest == "" && !followed
	case '>':
		return first
	case '&':
		return entity(rest) || rest == "" && !followed
	case '~':
		return strings.HasPrefix(rest, "~") || last == '~'
	case '|':
		return w.cell || first
	case '(':
		return last == ']'
	case ':':
		return last == ']' && (w.buf[w.start] == '[' || w.buf[w.start] == '\\')
	}
	return false
}

// joinsWords reports whether an underscore beside a character is part of a word.
func joinsWords(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// entity reports whether what follows an ampersand makes it a character.
func entity(rest string) bool {
	end := strings.IndexByte(rest[:min(len(rest), 40)], ';')
	return end > 0 && strings.Trim(strings.ToLower(rest[:end]), "abcdefghijklmnopqrstuvwxyz0123456789#") == ""
}

// codeSpan is inline code, in as many backticks as it takes.
func codeSpan(text string, cell bool) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return ""
	}
	if cell {
		text = strings.ReplaceAll(text, "|", `\|`)
	}
	ticks := strings.Repeat("`", longestRun(text, '`', 0)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		text = " " + text + " "
	}
	return ticks + text + ticks
}

// longestRun is how often a character follows itself at most in a text, and
// nothing less than least.
func longestRun(text string, c byte, least int) int {
	longest, run := least, 0
	for i := range len(text) {
		if text[i] != c {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return longest
}

// labelText makes a text fit between the brackets of a link or a picture.
func labelText(text string) string {
	return strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`, "`", "\\`", "<", `\<`, "|", `\|`, "*", `\*`, "_", `\_`).Replace(text)
}

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

package chat

import (
	"strings"
	"unicode"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// CleanText returns a text from outside in valid UTF-8 with at most max bytes, without
// control characters and without characters that hide text or change its order.
func CleanText(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == '\v' || r == '\f' || r == '\u2028' || r == '\u2029':
			return '\n'
		case unicode.IsControl(r), r == '\u00ad', r == '\u200b', r == '\ufeff', r == '\u061c',
			r >= '\u202a' && r <= '\u202e', r >= '\u2060' && r <= '\u206f',
			r >= 0xe0000 && r <= 0xe0fff, r >= 0xfff0 && r <= 0xfffb:
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "\ufffd"))
	return text.Clip(s, max)
}

// CleanName returns a name from outside, such as the name of a person or a file, like
// [CleanText], but on one line.
func CleanName(s string, max int) string {
	return text.Clip(strings.Join(strings.Fields(CleanText(s, len(s)+3)), " "), max)
}

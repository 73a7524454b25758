package tool

import (
	"fmt"
	"strings"
	"unicode"
)

// Hidden reports whether r cannot be seen, or changes the place of other
// characters. A person has to be shown such characters before an approval.
func Hidden(r rune) bool {
	if r < unicode.MaxASCII { // nearly all characters
		return r < ' '
	}
	return unicode.IsControl(r) || r == brailleBlank || unicode.Is(unicode.Z, r) && r != ' ' ||
		unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// brailleBlank looks like a space, although its category is symbol.
const brailleBlank = '\u2800'

// Visible writes hidden characters as <U+XXXX>, line breaks and tabs excepted.
func Visible(text string) string {
	hidden := func(r rune) bool { return r != '\n' && r != '\t' && Hidden(r) }
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			fmt.Fprintf(&b, "<U+%04X>", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

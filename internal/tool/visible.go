package tool

import (
	"fmt"
	"strings"
	"unicode"
)

// Hidden reports whether r is not seen, or moves what is: what a person must
// be shown before believing what they read.
func Hidden(r rune) bool {
	if r < unicode.MaxASCII { // nearly all there is
		return r < ' '
	}
	return unicode.IsControl(r) || r == brailleBlank || unicode.Is(unicode.Z, r) && r != ' ' ||
		unicode.In(r, unicode.Cf, unicode.Co, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// brailleBlank looks like a space and is, by its category, a symbol.
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

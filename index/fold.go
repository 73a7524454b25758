package index

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// lower is text in lower case and in the form that equal texts share.
func lower(text string) string {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return strings.ToLower(norm.NFKC.String(text))
		}
	}
	return strings.ToLower(text)
}

// fold takes the accents from letters that people leave out when they type.
// Marks that are vowels, as in Hindi, and letters of their own, as the Russian
// short i, stay.
func fold(word string) string {
	plain := true
	for i := 0; i < len(word) && plain; i++ {
		plain = word[i] < utf8.RuneSelf
	}
	if plain {
		return word
	}
	var b strings.Builder
	base := rune(0)
	for _, r := range norm.NFD.String(word) {
		if s := letterAs(r); s != "" {
			b.WriteString(s)
			base = 'a'
			continue
		}
		if unicode.Is(unicode.Mn, r) {
			if droppable(base, r) {
				continue
			}
		} else {
			base = r
		}
		b.WriteRune(r)
	}
	return norm.NFC.String(b.String())
}

// letterAs is how a letter is typed by those whose keyboard lacks it.
func letterAs(r rune) string {
	switch r {
	case 'ß':
		return "ss"
	case 'æ':
		return "ae"
	case 'œ':
		return "oe"
	case 'ø':
		return "o"
	case 'ł':
		return "l"
	case 'đ', 'ð':
		return "d"
	case 'þ':
		return "th"
	case 'ı':
		return "i"
	case 'ς':
		return "σ"
	case 'أ', 'إ', 'آ', 'ٱ':
		return "ا"
	case 'ى':
		return "ي"
	}
	return ""
}

// droppable tells marks that are often left out from those that are not.
func droppable(base, mark rune) bool {
	switch {
	case base < 0x250, unicode.Is(unicode.Latin, base), unicode.Is(unicode.Greek, base):
		return true
	case unicode.Is(unicode.Cyrillic, base):
		return mark == 0x308 && (base == 'е' || base == 'Е') || mark == 0x301
	}
	return unicode.In(base, unicode.Arabic, unicode.Hebrew)
}

// cut shortens a term to at most so many bytes, at the border of a character.
func cut(term string, most int) string {
	if len(term) <= most {
		return term
	}
	for most > 0 && !utf8.RuneStart(term[most]) {
		most--
	}
	return term[:most]
}

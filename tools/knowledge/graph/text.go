package graph

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Slug is the name of an entity in a form in which equal names are equal:
// letters and digits in lower case without the accents of Latin letters, with
// single hyphens between words. It is "" for a name without any.
func Slug(name string) string {
	var b strings.Builder
	latin, apart := false, false
	for _, r := range norm.NFKD.String(Cut(name, mostName)) {
		switch {
		case unicode.Is(unicode.Mn, r) && latin, r == '\'', r == '’':
			continue
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && b.Len() > 0:
			if apart && b.Len() > 0 {
				b.WriteByte('-')
			}
			apart = false
			latin = unicode.Is(unicode.Latin, r)
			b.WriteRune(unicode.ToLower(r))
		case r == '+' && b.Len() > 0 && !apart: // C++ is not C
			b.WriteString("plus")
		case r == '#' && b.Len() > 0 && !apart:
			b.WriteString("sharp")
		default:
			latin, apart = false, true
		}
	}
	return strings.Trim(Cut(norm.NFC.String(b.String()), mostSlug), "-")
}

const (
	mostSlug = 120     // bytes
	mostName = 4 << 10 // that are looked at
)

// Head is what the slugs of names that look alike begin with.
func Head(slug string) string {
	n := 0
	for i := range slug {
		if n == 3 {
			return slug[:i]
		}
		n++
	}
	return slug
}

// TypeName writes a type as types are written: lower_snake_case. "" is for what
// has no letters a to z to begin with.
func TypeName(text string) string {
	var b strings.Builder
	apart, small := false, false
	for _, r := range norm.NFKD.String(text) {
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r >= 'a' && r <= 'z', upper, r >= '0' && r <= '9' && b.Len() > 0:
			if (apart || upper && small) && b.Len() > 0 {
				b.WriteByte('_')
			}
			apart, small = false, !upper
			b.WriteRune(unicode.ToLower(r))
		case unicode.Is(unicode.Mn, r):
		default:
			apart = true
		}
		if b.Len() >= mostType {
			break
		}
	}
	return strings.Trim(Cut(b.String(), mostType), "_")
}

const mostType = 64

// Line is text as one line without anything that cannot be seen, so that what
// one entity is called cannot look like another one.
func Line(text string) string {
	return strings.Join(strings.Fields(strings.Map(visible, strings.ToValidUTF8(text, ""))), " ")
}

// visible drops what has no look of its own: controls, marks that turn the
// direction of text, and letters of no width.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == '\u200c', r == '\u200d': // they join letters in Persian and in emoji
		return r
	case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs):
		return -1
	}
	return r
}

// Cut shortens text to at most so many bytes, at the border of a character.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

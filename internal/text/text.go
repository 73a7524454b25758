// Package text shortens and counts for sentences that people and models read.
// It does not format numbers or times, and it does not scrub.
package text

import (
	"strconv"
	"unicode/utf8"
)

// ellipsis marks the place where Clip cut.
const ellipsis = "…"

// Clip returns s if it has at most max bytes, else its beginning with an
// ellipsis, max bytes together. It never cuts within a character.
func Clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	n := max - len(ellipsis)
	if n <= 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

// Plural returns "1 file" or "3 files". Nouns that do not take an s pass their
// plural: Plural(n, "entry", "entries").
func Plural(n int, noun string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(plural) > 0:
		return strconv.Itoa(n) + " " + plural[0]
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

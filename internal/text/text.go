// Package text shortens and counts for sentences that people and models read.
// It does not format times, and it does not scrub.
package text

import (
	"fmt"
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

// Bytes returns a size such as "1.2 MB".
func Bytes(n int64) string {
	if n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), ""
	for _, unit = range []string{"kB", "MB", "GB", "TB"} {
		if value /= 1000; value < 999.5 {
			break
		}
	}
	if value < 9.95 {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}

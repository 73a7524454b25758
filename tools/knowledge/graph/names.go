package graph

import (
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

const (
	maxSlug = 120     // bytes
	maxName = 4 << 10 // bytes of a name that Slug reads
	maxType = 64      // bytes
)

// Slug returns the normal form of a name: letters and digits in lower case, without the accents of Latin letters,
// words joined by single hyphens. It returns "" for a name without letters and digits.
func Slug(name string) string {
	var b strings.Builder
	latin, separated := false, false
	for _, r := range norm.NFKD.String(text.Cut(name, maxName)) {
		switch {
		case unicode.Is(unicode.Mn, r) && latin, r == '\'', r == '’':
			continue
		case unicode.IsLetter(r), unicode.IsDigit(r), unicode.IsMark(r) && b.Len() > 0:
			if separated && b.Len() > 0 {
				b.WriteByte('-')
			}
			separated = false
			latin = unicode.Is(unicode.Latin, r)
			b.WriteRune(unicode.ToLower(r))
		case r == '+' && b.Len() > 0 && !separated: // C++ is not C
			b.WriteString("plus")
		case r == '#' && b.Len() > 0 && !separated:
			b.WriteString("sharp")
		default:
			latin, separated = false, true
		}
	}
	return strings.Trim(text.Cut(norm.NFC.String(b.String()), maxSlug), "-")
}

// Prefix returns the first three characters of a slug. Names that look similar share it.
func Prefix(slug string) string {
	n := 0
	for i := range slug {
		if n == 3 {
			return slug[:i]
		}
		n++
	}
	return slug
}

// TypeName returns a type in lower_snake_case, or "" for a name without letters from a to z.
func TypeName(name string) string {
	var b strings.Builder
	separated, small := false, false
	for _, r := range norm.NFKD.String(name) {
		upper := r >= 'A' && r <= 'Z'
		switch {
		case r >= 'a' && r <= 'z', upper, r >= '0' && r <= '9' && b.Len() > 0:
			if (separated || upper && small) && b.Len() > 0 {
				b.WriteByte('_')
			}
			separated, small = false, !upper
			b.WriteRune(unicode.ToLower(r))
		case unicode.Is(unicode.Mn, r):
		default:
			separated = true
		}
		if b.Len() >= maxType {
			break
		}
	}
	return strings.Trim(text.Cut(b.String(), maxType), "_")
}

// CleanLine returns text as one line without invisible characters, so that two names that look the same are the same.
func CleanLine(s string) string {
	return strings.Join(strings.Fields(strings.Map(visible, strings.ToValidUTF8(s, ""))), " ")
}

// visible drops control characters, marks that change the direction of text, and characters without width.
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

// Similar reports whether two slugs look like names of the same thing: the same words in another order, one with
// initials for words of the other, or with one or two letters mistyped. Names that differ in a digit never do.
func Similar(a, b string) bool {
	if a == b {
		return true
	}
	if digits(a) != digits(b) {
		return false
	}
	x, y := strings.Split(a, "-"), strings.Split(b, "-")
	if strings.Join(x, "") == strings.Join(y, "") || isInitials(x, y) || isInitials(y, x) {
		return true
	}
	slices.Sort(x)
	slices.Sort(y)
	if slices.Equal(x, y) {
		return true
	}
	allowed := 0
	switch longer := max(len(a), len(b)); {
	case longer >= 12:
		allowed = 2
	case longer >= 5:
		allowed = 1
	}
	return allowed > 0 && distance([]rune(a), []rune(b), allowed+1) <= allowed
}

// isInitials reports whether short has the words of full or their first letters, and the same last word.
func isInitials(short, full []string) bool {
	if len(short) != len(full) || len(short) < 2 || short[len(short)-1] != full[len(full)-1] {
		return false
	}
	for i, word := range short[:len(short)-1] {
		initial := len([]rune(word)) == 1 && strings.HasPrefix(full[i], word)
		if word != full[i] && !initial {
			return false
		}
	}
	return true
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// distance returns how many letters have to be inserted, removed, changed or swapped with a neighbour to make b from
// a, or limit if there are that many or more.
func distance(a, b []rune, limit int) int {
	if len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	last, row, next := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		next[0] = i
		for j := 1; j <= len(b); j++ {
			next[j] = row[j-1]
			if a[i-1] != b[j-1] {
				next[j] = 1 + min(row[j-1], row[j], next[j-1])
			}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				next[j] = min(next[j], last[j-2]+1)
			}
		}
		last, row, next = row, next, last
	}
	return min(row[len(b)], limit)
}

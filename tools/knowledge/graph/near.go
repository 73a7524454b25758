package graph

import (
	"slices"
	"strings"
	"unicode"
)

// Near reports whether two slugs look like names of one thing: the same words
// in another order, one with initials for words of the other, or a slip of the
// pen. Names that differ in a number are of different things.
func Near(a, b string) bool {
	if a == b {
		return true
	}
	if digits(a) != digits(b) {
		return false
	}
	x, y := strings.Split(a, "-"), strings.Split(b, "-")
	if strings.Join(x, "") == strings.Join(y, "") || initials(x, y) || initials(y, x) {
		return true
	}
	slices.Sort(x)
	slices.Sort(y)
	if slices.Equal(x, y) {
		return true
	}
	long := max(len(a), len(b))
	allowed := 0
	switch {
	case long >= 12:
		allowed = 2
	case long >= 5:
		allowed = 1
	}
	return allowed > 0 && distance([]rune(a), []rune(b), allowed+1) <= allowed
}

// initials reports whether short has, for the words of full, words or their
// first letters, and the same last word.
func initials(short, full []string) bool {
	if len(short) != len(full) || len(short) < 2 || short[len(short)-1] != full[len(full)-1] {
		return false
	}
	for i, word := range short[:len(short)-1] {
		letter := len([]rune(word)) == 1 && strings.HasPrefix(full[i], word)
		if word != full[i] && !letter {
			return false
		}
	}
	return true
}

func digits(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, text)
}

// distance counts the letters to insert, leave out, change or swap with a
// neighbour that make b of a; limit when there are that many or more.
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

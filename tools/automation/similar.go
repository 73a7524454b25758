package automation

import (
	"slices"
	"strings"
	"unicode"
)

// normalized returns a text in lower case without punctuation, with one space between words.
func normalized(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r)
	})
	return strings.Join(words, " ")
}

// likeness returns how alike two normalized texts are, from 0 to 1: how many of their words have a word in the other
// text that is nearly the same.
func likeness(a, b string) float64 {
	if a == b {
		return 1
	}
	words, others := strings.Fields(a), strings.Fields(b)
	total, shared := len(words)+len(others), 0
	for _, word := range words {
		i := slices.IndexFunc(others, func(other string) bool { return nearlySame(word, other) })
		if i >= 0 {
			others = slices.Delete(others, i, i+1)
			shared++
		}
	}
	return 2 * float64(shared) / float64(max(total, 1))
}

// nearlySame reports whether one letter of four differs at most.
func nearlySame(a, b string) bool {
	one, two := []rune(a), []rune(b)
	return 4*distance(one, two) <= max(len(one), len(two))
}

// distance returns the number of letters to add, remove or replace to make one text the other.
func distance(a, b []rune) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range a {
		before := row[0]
		row[0] = i + 1
		for j, d := range b {
			cost := before
			if c != d {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

package discovery

import "unicode/utf8"

// Limits for mistakes in the spelling of a word of a request, by its length.
const (
	fewLetters   = 4 // words with fewer letters are taken as they are
	manyLetters  = 7 // words of this length can have two mistakes
	leastOfParts = 3 // letters of each of two words that are written as one
)

// Factors of words that are meant by a misspelt one.
const (
	asMisspelt = 0.6 // for a word with one mistake
	asGuess    = 0.4 // for one with two
)

// spellings returns the words that a misspelt word can mean, and how likely each is: the words
// that differ in one letter, else in two, else the two words that it joins. Some can be
// fillers.
func (r *ranking) spellings(word string) map[string]float64 {
	found, least := make(map[string]float64), allowed(word)
	for other := range r.spelled {
		limit := min(least, allowed(other))
		n := mistakes(word, other, limit)
		if n > limit {
			continue
		}
		if n < least {
			least = n
			clear(found)
		}
		found[other] = asMisspelt
		if n > 1 {
			found[other] = asGuess
		}
	}
	if len(found) > 0 {
		return found
	}
	for at := leastOfParts; at <= len(word)-leastOfParts; at++ {
		if left, right := stem(word[:at]), stem(word[at:]); r.words[left] != nil && r.words[right] != nil {
			found[left], found[right] = asMisspelt, asMisspelt
		}
	}
	return found
}

// respelled returns the words of a request with its first word spelled right, if all verbs that it can mean do the same.
func (r *ranking) respelled(words []string) []string {
	if len(words) == 0 || r.spelled[stem(words[0])] {
		return words
	}
	var does acts
	verb := ""
	for word := range r.spellings(stem(words[0])) {
		switch one := r.known.acts[word]; {
		case one == 0:
		case does != 0 && does != one:
			return words
		default:
			does, verb = one, word
		}
	}
	if verb == "" {
		return words
	}
	return append([]string{verb}, words[1:]...)
}

// allowed returns how many mistakes a word can have.
func allowed(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < fewLetters:
		return 0
	case n < manyLetters:
		return 1
	}
	return 2
}

// mistakes returns how many letters of a word must be changed, added, left out or exchanged with their neighbour to
// get another one, or more than limit if that needs more.
func mistakes(word, other string, limit int) int {
	a, b := []rune(word), []rune(other)
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	// Each row has the distances of the first letters of a to all beginnings of b.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range a {
		row[0] = i + 1
		best := row[0]
		for j := range b {
			changed := last[j]
			if a[i] != b[j] {
				changed++
			}
			row[j+1] = min(changed, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
			best = min(best, row[j+1])
		}
		if best > limit {
			return limit + 1
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

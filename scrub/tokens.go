package scrub

import "strings"

// triggers are what the index must know of a family.
func (f family) triggers() []trigger {
	if len(f.prefix) < 4 {
		if f.chars == lowHex {
			return onPrefix(f.find, f.prefix, "%")
		}
		return onPrefix(f.find, f.prefix, "?")
	}
	back := rarest(f.prefix[:min(len(f.prefix), 16)])
	return on(f.find, back, f.prefix[back:back+4])
}

func (f family) find(t *text, at int) (span, bool) {
	if !t.has(at, f.prefix) {
		return span{}, false
	}
	start := at + len(f.prefix)
	end := t.runMost(start, f.chars, f.least+64)
	if end-start < f.least || !f.proved(t, at, start, end) {
		return span{}, false
	}
	end = t.run(end, f.chars)
	for end > start && (dot | dash).has(t.s[end-1]) {
		end-- // the end of a sentence
	}
	return span{from: at, to: end, kind: f.kind, tail: f.chars}, end-start >= f.least
}

func (f family) proved(t *text, at, start, end int) bool {
	rest := t.s[start:end]
	if blankedOut(rest) || f.more != nothing && !t.edge(at) {
		return false
	}
	switch f.more {
	case mixed:
		return random(rest) || varied(rest) && longest(rest, alnum) >= 20
	case exact:
		return len(rest) == f.least && !word.has(t.at(end)) && varied(rest)
	}
	return true
}

// varied says that s has digits, letters, and several of them.
func varied(s string) bool {
	var seen [256]bool
	distinct := 0
	for i := range len(s) {
		if !seen[s[i]] {
			seen[s[i]] = true
			distinct++
		}
	}
	return distinct >= 6 && letter.any(s) && (digit.any(s) || mixedCase(s))
}

// longest is the length of the longest piece of s that is made of c.
func longest(s string, c class) (most int) {
	n := 0
	for i := range len(s) {
		if n++; !c.has(s[i]) {
			n = 0
		}
		most = max(most, n)
	}
	return most
}

// blankedOut says that somebody hid the secret already: xxxx, ****, ....
func blankedOut(s string) bool {
	return strings.Trim(s, "xX*.-_") == "" || strings.Contains(s, "xxxxxxxx") || strings.Contains(s, "XXXXXXXX")
}

// random says that s has the look of something drawn by lot: it changes
// between digits, small and capital letters more often than names do.
func random(s string) bool {
	if len(s) < 12 {
		return false
	}
	var seen [256]bool
	distinct, changes, figures, big, small := 0, 0, 0, false, false
	var before, last class
	for i := range len(s) {
		b := s[i]
		if !seen[b] {
			seen[b] = true
			distinct++
		}
		k := caseOf(b)
		switch k {
		case digit:
			figures++
		case upper:
			big = true
		case lower:
			small = true
		}
		if k != 0 && last != 0 && k != last && (last != upper || k != lower || before == upper) {
			changes++ // but not for the capital that begins a word
		}
		before, last = last, k
	}
	return distinct >= 8 && 4*changes >= len(s) && (figures > 0 || big && small)
}

func caseOf(b byte) class {
	switch k := kinds[b]; {
	case k&digit != 0:
		return digit
	case k&lower != 0:
		return lower
	case k&upper != 0:
		return upper
	}
	return 0
}

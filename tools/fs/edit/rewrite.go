package edit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A rewriting is the old and the new text of an edit, line by line.
type rewriting struct {
	old, new []string // lines
	chunks   []chunk  // how they differ, apart from line endings
}

func newRewriting(old, new string) rewriting {
	r := rewriting{old: SplitLines(old), new: SplitLines(new)}
	r.chunks = compare(unixLines(r.old), unixLines(r.new))
	return r
}

func unixLines(lines []string) []string {
	unix := make([]string, len(lines))
	for i, line := range lines {
		unix[i] = line
		if ending(line) == "\r\n" {
			unix[i] = body(line) + "\n"
		}
	}
	return unix
}

// at returns the replacement of have, the text that m matched: old in the style of the file. Lines that old and new
// have in common stay as they are in the file; others take over the style of the lines that they replace. newline is
// the usual line ending around the match.
func (r rewriting) at(m match, have, newline string) string {
	lines := SplitLines(have)
	for len(lines) < len(r.old) {
		lines = append(lines, "")
	}
	var b strings.Builder
	next := 0
	for _, c := range r.chunks {
		for _, line := range lines[next:c.a0] {
			b.WriteString(line)
		}
		for j := c.b0; j < c.b1; j++ {
			old, line := "", ""
			if i := c.a0 + j - c.b0; i < c.a1 {
				old, line = r.old[i], lines[i]
			}
			b.WriteString(m.Line(old, line, r.new[j]))
			if ending(r.new[j]) != "" {
				b.WriteString(like(line, lines[:min(c.a1, len(lines))], newline))
			}
		}
		next = c.a1
	}
	for _, line := range lines[next:] {
		b.WriteString(line)
	}
	return b.String()
}

// like returns the line ending of line, or of the last of the lines that has one, or newline.
func like(line string, lines []string, newline string) string {
	if end := ending(line); end != "" {
		return end
	}
	for _, line := range slices.Backward(lines) {
		if end := ending(line); end != "" {
			return end
		}
	}
	return newline
}

// A Style is the form of an edit's lines in the file. The zero Style changes nothing.
type Style struct {
	rungs   []Rung
	indents Indents
}

// Line returns a new line without its ending, in the style of the file. It replaces the line have of the file; old is
// the same line in the edit. Both are empty for an added line.
func (s Style) Line(old, have, new string) string {
	new = body(new)
	if slices.Contains(s.rungs, Indentation) {
		new = s.indents.Line(new)
		old = indent(have) + old[len(indent(old)):]
	}
	if slices.Contains(s.rungs, Punctuation) && have != "" && utf8.ValidString(new) {
		return restyle(body(old), body(have), new)
	}
	return new
}

// restyle gives the characters that new shares with old the style of line. line is old in the style of the file.
func restyle(old, line, new string) string {
	s := Step{right: true, fold: true}
	_, end := s.core(old)
	_, lineEnd := s.core(line)
	given, have := []rune(old[:end]), characters(line[:lineEnd])
	if len(given) != len(have) || old == line {
		return new
	}
	wanted := []rune(new)
	var b strings.Builder
	next := 0
	keep := func(to int) {
		for ; next < to; next++ {
			b.WriteString(have[next])
		}
	}
	for _, c := range compare(given, wanted) {
		keep(c.a0)
		b.WriteString(string(wanted[c.b0:c.b1]))
		next = c.a1
	}
	keep(len(given))
	return b.String()
}

// characters returns the characters of text. An invalid byte is a character.
func characters(text string) []string {
	var all []string
	for text != "" {
		_, n := utf8.DecodeRuneInString(text)
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

// newlineNear returns the line ending of the text around position i.
func newlineNear(text string, i int) string {
	if end := ending(text[:endOfLine(text, i)]); end != "" {
		return end
	}
	if end := ending(text[:startOfLine(text, i)]); end != "" {
		return end
	}
	return "\n"
}

// A chunk says that a[a0:a1] was replaced by b[b0:b1]. Between chunks both sides are equal.
type chunk struct{ a0, a1, b0, b1 int }

// maxEdits is how many elements may be removed and added in all. If there are more, all that
// is between the equal beginning and the equal end counts as replaced.
const maxEdits = 1000

// compare returns how b differs from a, in order, with as few elements as possible: it takes
// the greedy algorithm of Myers, "An O(ND) Difference Algorithm and Its Variations".
func compare[T comparable](a, b []T) []chunk {
	all := chunk{a1: len(a), b1: len(b)}
	for all.a0 < min(len(a), len(b)) && a[all.a0] == b[all.b0] {
		all.a0, all.b0 = all.a0+1, all.b0+1
	}
	for all.a1 > all.a0 && all.b1 > all.b0 && a[all.a1-1] == b[all.b1-1] {
		all.a1, all.b1 = all.a1-1, all.b1-1
	}
	if all.a0 == all.a1 && all.b0 == all.b1 {
		return nil
	}
	if all.a0 == all.a1 || all.b0 == all.b1 {
		return []chunk{all}
	}
	rounds := edits(a[all.a0:all.a1], b[all.b0:all.b1])
	if rounds == nil {
		return []chunk{all}
	}
	return chunks(rounds, all)
}

// edits returns, for each number of edits from 0 to the smallest number that leads from a to b,
// the furthest positions in a that fewer edits reach. The positions are ordered by diagonal
// (position in a minus position in b), the smallest first. It returns nil if more than maxEdits
// are needed.
func edits[T comparable](a, b []T) (rounds [][]int32) {
	reached := make([]int32, 2*maxEdits+3) // by diagonal plus middle
	const middle = maxEdits + 1
	for n := 0; n <= maxEdits; n++ {
		rounds = append(rounds, slices.Clone(reached[middle-n-1:middle+n+2]))
		for diagonal := -n; diagonal <= n; diagonal += 2 {
			i, _ := afterEdit(reached[middle+diagonal-1:], diagonal, n)
			j := i - diagonal
			for i < len(a) && j < len(b) && a[i] == b[j] {
				i, j = i+1, j+1
			}
			if reached[middle+diagonal] = int32(i); i == len(a) && j == len(b) {
				return rounds
			}
		}
	}
	return nil
}

// afterEdit returns where in a the nth edit leads to on a diagonal, and whether it adds an
// element. around has how far one gets with fewer edits, from the diagonal before it on.
func afterEdit(around []int32, diagonal, n int) (i int, adds bool) {
	if diagonal == -n || diagonal != n && around[0] < around[2] {
		return int(around[2]), true
	}
	return int(around[0]) + 1, false
}

// chunks follows the edits back from the end, and returns them in order.
func chunks(rounds [][]int32, all chunk) (found []chunk) {
	diagonal := (all.a1 - all.a0) - (all.b1 - all.b0)
	for n := len(rounds) - 1; n > 0; n-- {
		i, adds := afterEdit(rounds[n][diagonal+n:], diagonal, n)
		j := i - diagonal
		one := chunk{all.a0 + i, all.a0 + i, all.b0 + j, all.b0 + j}
		if adds {
			one.b0--
			diagonal++
		} else {
			one.a0--
			diagonal--
		}
		if last := len(found) - 1; last >= 0 && found[last].a0 == one.a1 && found[last].b0 == one.b1 {
			found[last].a0, found[last].b0 = one.a0, one.b0
		} else {
			found = append(found, one)
		}
	}
	slices.Reverse(found)
	return found
}

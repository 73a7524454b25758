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

// at returns the replacement of have, which m matched and which is old in the style of the file. Lines that old and new
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
			b.WriteString(m.body(old, line, r.new[j]))
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

// body returns the body of a new line that replaces line, which is old in the style of the file. Both are empty for a
// line that replaces none.
func (m match) body(old, line, new string) string {
	new = body(new)
	if slices.Contains(m.rungs, Indentation) {
		new = m.indents.Line(new)
		old = indent(line) + old[len(indent(old)):]
	}
	if slices.Contains(m.rungs, Punctuation) && line != "" && utf8.ValidString(new) {
		return restyle(body(old), body(line), new)
	}
	return new
}

// restyle gives the characters of new that are also in old the style that they have in line, which is old in the style
// of the file.
func restyle(old, line, new string) string {
	s := step{right: true, fold: true}
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

// maxTable is the maximum size of a table of common elements, and maxWork that of all tables of one comparison.
const (
	maxTable = 1 << 20
	maxWork  = 16 << 20
)

// compare returns how b differs from a, in order. It aligns the elements that occur once on both sides, and finds the
// most common ones in what is short between them; the rest counts as replaced. So the result is always correct, but
// not always the smallest.
func compare[T comparable](a, b []T) []chunk {
	c := comparison[T]{a: a, b: b, work: maxWork}
	c.part(chunk{0, len(a), 0, len(b)})
	return c.found
}

type comparison[T comparable] struct {
	a, b  []T
	work  int
	found []chunk
}

// part compares the parts of a and b in c.
func (p *comparison[T]) part(c chunk) {
	for c.a0 < c.a1 && c.b0 < c.b1 && p.a[c.a0] == p.b[c.b0] {
		c.a0, c.b0 = c.a0+1, c.b0+1
	}
	for c.a0 < c.a1 && c.b0 < c.b1 && p.a[c.a1-1] == p.b[c.b1-1] {
		c.a1, c.b1 = c.a1-1, c.b1-1
	}
	if c.a0 == c.a1 && c.b0 == c.b1 {
		return
	}
	var pairs [][2]int
	if c.a0 < c.a1 && c.b0 < c.b1 {
		if size := (c.a1 - c.a0 + 1) * (c.b1 - c.b0 + 1); size <= min(maxTable, p.work) {
			p.work -= size
			p.table(c)
			return
		}
		pairs = p.landmarks(c)
	}
	if len(pairs) == 0 {
		p.add(c)
		return
	}
	for _, pair := range pairs {
		p.part(chunk{c.a0, pair[0], c.b0, pair[1]})
		c.a0, c.b0 = pair[0]+1, pair[1]+1
	}
	p.part(c)
}

// add appends c to the result, or extends the last chunk if they touch.
func (p *comparison[T]) add(c chunk) {
	if n := len(p.found); n > 0 && p.found[n-1].a1 == c.a0 && p.found[n-1].b1 == c.b0 {
		p.found[n-1].a1, p.found[n-1].b1 = c.a1, c.b1
		return
	}
	p.found = append(p.found, c)
}

// table finds a longest common subsequence.
func (p *comparison[T]) table(c chunk) {
	a, b := p.a[c.a0:c.a1], p.b[c.b0:c.b1]
	width := len(b) + 1
	common := make([]int32, (len(a)+1)*width) // of a[i:] and b[j:], at i*width+j
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if at := i*width + j; a[i] == b[j] {
				common[at] = common[at+width+1] + 1
			} else {
				common[at] = max(common[at+width], common[at+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) || j < len(b); {
		i0, j0 := i, j
		for i < len(a) && (j == len(b) || a[i] != b[j] && common[(i+1)*width+j] >= common[i*width+j+1]) {
			i++
		}
		for j < len(b) && (i == len(a) || a[i] != b[j] && common[(i+1)*width+j] < common[i*width+j+1]) {
			j++
		}
		if i > i0 || j > j0 {
			p.add(chunk{c.a0 + i0, c.a0 + i, c.b0 + j0, c.b0 + j})
			continue
		}
		i, j = i+1, j+1
	}
}

// landmarks returns pairs of equal elements that occur once on each side, in the same order on both.
func (p *comparison[T]) landmarks(c chunk) [][2]int {
	inA, inB := map[T]int{}, map[T]int{} // number of occurrences
	for _, x := range p.a[c.a0:c.a1] {
		inA[x]++
	}
	at := map[T]int{} // position in b
	for j, x := range p.b[c.b0:c.b1] {
		inB[x]++
		at[x] = c.b0 + j
	}
	var pairs [][2]int
	for i, x := range p.a[c.a0:c.a1] {
		if inA[x] == 1 && inB[x] == 1 {
			pairs = append(pairs, [2]int{c.a0 + i, at[x]})
		}
	}
	return ascending(pairs)
}

// ascending returns the longest subsequence of pairs in which the second numbers rise, as the first ones do.
func ascending(pairs [][2]int) [][2]int {
	var tops []int // by length: index of the pair that ends the sequence with the lowest end
	before := make([]int, len(pairs))
	for i, pair := range pairs {
		n, _ := slices.BinarySearchFunc(tops, pair[1], func(top, second int) int { return pairs[top][1] - second })
		before[i] = -1
		if n > 0 {
			before[i] = tops[n-1]
		}
		tops = append(tops[:n], append([]int{i}, tops[min(n+1, len(tops)):]...)...)
	}
	if len(tops) == 0 {
		return nil
	}
	found := make([][2]int, len(tops))
	for n, i := len(tops)-1, tops[len(tops)-1]; n >= 0; n, i = n-1, before[i] {
		found[n] = pairs[i]
	}
	return found
}

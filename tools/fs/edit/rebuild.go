package edit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A rewriting is what somebody gave to be replaced, and by what.
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

// at is what takes the place of have, which was found by m and is the file's
// own form of old. Lines that are the same in old and new stay as the file has
// them; the others are made to look like those that they replace. newline is
// the line ending of the neighbourhood.
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

// like is the line ending of line, or of the last of the lines that has one.
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

// body is the body of a new line that takes the place of line, which is the
// file's own form of old; both are empty when it takes the place of none.
func (m match) body(old, line, new string) string {
	new = body(new)
	if slices.Contains(m.rungs, Indentation) && strings.TrimSpace(new) != "" {
		before := indent(new)
		if shifted, ok := m.shift.of(before); ok {
			new = shifted + new[len(before):]
		}
		old = indent(line) + old[len(indent(old)):]
	}
	if slices.Contains(m.rungs, Punctuation) && line != "" {
		return restyle(body(old), body(line), new)
	}
	return new
}

// restyle gives the characters that new has in common with old the form that
// they have in line, which is the file's own form of old.
func restyle(old, line, new string) string {
	f := form{right: true, fold: true}
	_, end := f.core(old)
	_, lineEnd := f.core(line)
	given, have := []rune(old[:end]), characters(line[:lineEnd])
	if len(given) != len(have) || old == line {
		return new
	}
	wanted := []rune(new)
	if !utf8.ValidString(new) {
		return new
	}
	var b strings.Builder
	next := 0
	keep := func(to int) {
		for ; next < to; next++ {
			b.WriteString(have[next])
		}
	}
	for _, c := range compareFew(given, wanted) {
		keep(c.a0)
		b.WriteString(string(wanted[c.b0:c.b1]))
		next = c.a1
	}
	keep(len(given))
	return b.String()
}

// characters are the characters of text, bytes that are no UTF-8 included.
func characters(text string) []string {
	var all []string
	for text != "" {
		_, n := utf8.DecodeRuneInString(text)
		all = append(all, text[:n])
		text = text[n:]
	}
	return all
}

// newlineNear is the line ending that text has around position i.
func newlineNear(text string, i int) string {
	if end := ending(text[:endOfLine(text, i)]); end != "" {
		return end
	}
	if end := ending(text[:startOfLine(text, i)]); end != "" {
		return end
	}
	return "\n"
}

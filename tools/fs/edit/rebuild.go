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

// restyle gives the characters of new that are also in old the style that they have in line, which is old in the style
// of the file.
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

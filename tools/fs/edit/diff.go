package edit

import (
	"fmt"
	"strings"
)

// Unified returns the difference between two texts as a unified diff with some lines of context, "" if they are equal.
// Without a name it begins with the first hunk. A patch program makes after from before with it, byte for byte, unless
// it is longer than maxBytes: then it ends with the number of missing lines. A maxBytes of 0 means no limit.
func Unified(name string, before, after []byte, context, maxBytes int) string {
	w := diffWriter{context: context, most: maxBytes}
	return w.diff(name, passage{before: string(before), after: string(after)})
}

// A Span is a part that changed: Start to End before the change, From to To after it. Outside of spans both texts are
// equal.
type Span struct{ Start, End, From, To int }

// A passage is a text, or a part of one, before and after a change.
type passage struct {
	before, after string
	line          int    // number of lines before the passage
	spans         []Span // what changed, in order; nil if it is not known yet
}

// changed returns the spans that differ.
func (p passage) changed() []Span {
	if p.spans != nil {
		return p.spans
	}
	start := sameStart(p.before, p.after)
	end := sameEnd(p.before[start:], p.after[start:])
	s := Span{start, len(p.before) - end, start, len(p.after) - end}
	if s.Start == s.End && s.From == s.To {
		return nil
	}
	return []Span{s}
}

// blocks returns the changed spans, extended to whole lines and joined where they touch.
func (p passage) blocks() []Span {
	var all []Span
	for _, s := range p.changed() {
		back := s.Start - startOfLine(p.before, s.Start)
		s.Start, s.From = s.Start-back, s.From-back
		if !startsLine(p.before, s.End) || !startsLine(p.after, s.To) {
			rest := endOfLine(p.before, s.End) - s.End
			s.End, s.To = s.End+rest, s.To+rest
		}
		if n := len(all); n > 0 && s.Start <= all[n-1].End {
			all[n-1].End, all[n-1].To = max(s.End, all[n-1].End), max(s.To, all[n-1].To)
			continue
		}
		all = append(all, s)
	}
	return all
}

// A change is a run of consecutive lines that were replaced.
type change struct {
	old, new   []string
	start, end int // positions in before
	line       int // number of lines before it in the old text
	newLine    int // and in the new text
}

// changes returns the lines that differ, block by block, of at most max blocks, and the number of other blocks.
func (p passage) changes(most int) (all []change, more int) {
	line, shift, at := p.line, 0, 0
	for i, b := range p.blocks() {
		if i >= most {
			more++
			continue
		}
		line += countLines(p.before[at:b.Start])
		old, new := SplitLines(p.before[b.Start:b.End]), SplitLines(p.after[b.From:b.To])
		offset, passed := b.Start, 0
		for _, c := range compare(old, new) {
			offset += length(old[passed:c.a0])
			end := offset + length(old[c.a0:c.a1])
			all = append(all, change{old[c.a0:c.a1], new[c.b0:c.b1], offset, end, line + c.a0, line + shift + c.b0})
			offset, passed = end, c.a1
		}
		shift += len(new) - len(old)
		line += countLines(p.before[b.Start:b.End])
		at = b.End
	}
	return all, more
}

func length(lines []string) (n int) {
	for _, line := range lines {
		n += len(line)
	}
	return n
}

// A diffWriter writes hunks up to a limit.
type diffWriter struct {
	context, most int
	readable      bool
	marked        bool // make carriage returns visible
	out           strings.Builder
	missing       int // number of lines beyond the limit
}

func (w *diffWriter) diff(name string, p passage) string {
	const manyBlocks = 2000 // a diff for reading reaches its limit long before
	most := len(p.before) + len(p.after)
	if w.most > 0 {
		most = manyBlocks
	}
	all, more := p.changes(most)
	if len(all) == 0 {
		return ""
	}
	w.marked = w.readable && mixedEndings(all)
	if name != "" {
		fmt.Fprintf(&w.out, "--- a/%s\n+++ b/%s\n", name, name)
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && w.near(p.before[all[n-1].end:all[n].start]) {
			n++
		}
		w.hunk(p.before, all[:n])
		all = all[n:]
	}
	switch {
	case more > 0:
		fmt.Fprintf(&w.out, "… %d more lines, and %d more places\n", w.missing, more)
	case w.missing > 0:
		fmt.Fprintf(&w.out, "… %d more lines\n", w.missing)
	}
	return w.out.String()
}

// near reports whether two changes with a text between them belong into one hunk.
func (w *diffWriter) near(between string) bool {
	return linesAfter(between, 0, 2*w.context) == len(between)
}

func (w *diffWriter) hunk(before string, all []change) {
	first, last := all[0], all[len(all)-1]
	from := linesBefore(before, first.start, w.context)
	to := linesAfter(before, last.end, w.context)
	ahead := len(SplitLines(before[from:first.start]))
	old, new := ahead, ahead
	at := first.start
	for _, c := range all {
		between := len(SplitLines(before[at:c.start]))
		old, new = old+between+len(c.old), new+between+len(c.new)
		at = c.end
	}
	behind := len(SplitLines(before[at:to]))
	w.header(first.line-ahead, old+behind, first.newLine-ahead, new+behind)
	at = from
	for _, c := range all {
		w.same(before[at:c.start])
		for i, line := range c.old {
			w.line('-', line, differs(line, c.new, i))
		}
		for i, line := range c.new {
			w.line('+', line, differs(line, c.old, i))
		}
		at = c.end
	}
	w.same(before[at:to])
}

// header writes the header of a hunk: how many lines are before it, and how many it has, on both sides.
func (w *diffWriter) header(line, n, newLine, newN int) {
	if n > 0 {
		line++
	}
	if newN > 0 {
		newLine++
	}
	text := fmt.Sprintf("@@ -%d,%d +%d,%d @@\n", line, n, newLine, newN)
	if w.fits(len(text)) {
		w.out.WriteString(text)
	}
}

func (w *diffWriter) same(text string) {
	for _, line := range SplitLines(text) {
		w.line(' ', line, 0)
	}
}

func (w *diffWriter) fits(n int) bool {
	return w.most == 0 || w.missing == 0 && w.out.Len()+n <= w.most
}

// line writes one line. At is where it differs from the line that it replaces.
func (w *diffWriter) line(mark byte, line string, at int) {
	text, end := line, ending(line)
	if w.readable {
		const longest = 400
		text = strings.ToValidUTF8(clip(body(line), at, longest), "\uFFFD")
		if w.marked && end == "\r\n" {
			text += "␍"
		}
		if end != "" {
			text += "\n"
		}
	}
	if !w.fits(len(text) + 1) {
		w.missing++
		return
	}
	w.out.WriteByte(mark)
	w.out.WriteString(text)
	if end == "" {
		w.out.WriteString("\n\\ No newline at end of file\n")
	}
}

// differs returns where line differs from the i-th of others.
func differs(line string, others []string, i int) int {
	if i >= len(others) {
		return 0
	}
	return sameStart(line, others[i])
}

// mixedEndings reports whether some of the changed lines end in CRLF and some
// do not.
func mixedEndings(all []change) bool {
	seen := make(map[string]bool)
	for _, c := range all {
		for _, line := range c.old {
			seen[ending(line)] = true
		}
		for _, line := range c.new {
			seen[ending(line)] = true
		}
	}
	return seen["\n"] && seen["\r\n"]
}

package edit

import (
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/scrub"
)

// Diff returns the changes as a unified diff for reading, with some lines of context: it shortens long lines around the
// difference, and shows carriage returns only if not all lines have one. If it is longer than maxBytes it ends with the
// number of missing lines.
func (o Outcome) Diff(context, maxBytes int) string {
	const manyBlocks = 2000 // the limit of bytes is reached long before
	all, more := o.changes(manyBlocks)
	w := diffWriter{before: o.Before, context: context, most: maxBytes, marked: mixedEndings(all)}
	if n := len(all); n > 0 {
		first, last := all[0], all[n-1]
		from, to := linesBefore(o.Before, first.start, context), linesAfter(o.Before, last.end, context)
		w.old = o.secrets.Secrets(o.Before, from, to).Framed()
		w.now = o.secrets.Secrets(o.After, first.newStart, last.newStart+length(last.new)).Framed()
	}
	for len(all) > 0 {
		n := 1
		for n < len(all) && w.near(all[n-1].end, all[n].start) {
			n++
		}
		w.hunk(all[:n])
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

// blocks returns the spans, extended to whole lines and joined where they touch.
func (o Outcome) blocks() []Span {
	var all []Span
	for _, s := range o.Spans {
		back := s.Start - startOfLine(o.Before, s.Start)
		s.Start, s.From = s.Start-back, s.From-back
		if !startsLine(o.Before, s.End) || !startsLine(o.After, s.To) {
			rest := endOfLine(o.Before, s.End) - s.End
			s.End, s.To = s.End+rest, s.To+rest
		}
		if n := len(all); n > 0 && s.Start <= all[n-1].End {
			last := &all[n-1]
			last.End = max(s.End, last.End)
			last.To = last.End + s.To - s.End
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
	newStart   int // position in after
	line       int // number of lines before it in the old text
	newLine    int // and in the new text
}

// changes returns the lines that differ, block by block, of at most max blocks, and the number of other blocks.
func (o Outcome) changes(most int) (all []change, more int) {
	line, shift, at := 0, 0, 0
	for i, b := range o.blocks() {
		if i >= most {
			more++
			continue
		}
		line += countLines(o.Before[at:b.Start])
		old, new := SplitLines(o.Before[b.Start:b.End]), SplitLines(o.After[b.From:b.To])
		offset, passed := b.Start, 0
		newOffset, newPassed := b.From, 0
		for _, c := range compare(old, new) {
			offset += length(old[passed:c.a0])
			newOffset += length(new[newPassed:c.b0])
			end := offset + length(old[c.a0:c.a1])
			all = append(all, change{
				old: old[c.a0:c.a1], new: new[c.b0:c.b1], start: offset, end: end, newStart: newOffset,
				line: line + c.a0, newLine: line + shift + c.b0,
			})
			offset, passed = end, c.a1
			newOffset, newPassed = newOffset+length(new[c.b0:c.b1]), c.b1
		}
		shift += len(new) - len(old)
		line += countLines(o.Before[b.Start:b.End])
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
	before        string
	context, most int
	marked        bool // make carriage returns visible
	old, now      scrub.Secrets
	out           strings.Builder
	missing       int // number of lines beyond the limit
}

// near reports whether two changes with the text between two positions belong into one hunk.
func (w *diffWriter) near(from, to int) bool {
	return linesAfter(w.before[from:to], 0, 2*w.context) == to-from
}

func (w *diffWriter) hunk(all []change) {
	first, last := all[0], all[len(all)-1]
	from := linesBefore(w.before, first.start, w.context)
	to := linesAfter(w.before, last.end, w.context)
	ahead := len(SplitLines(w.before[from:first.start]))
	old, new := len(SplitLines(w.before[from:to])), 0
	new = old
	for _, c := range all {
		new += len(c.new) - len(c.old)
	}
	w.header(first.line-ahead, old, first.newLine-ahead, new)
	at := from
	for _, c := range all {
		w.same(at, c.start)
		old, new := masked(w.old, c.start, c.old), masked(w.now, c.newStart, c.new)
		for i, line := range old {
			w.line('-', line, differs(line, new, i))
		}
		for i, line := range new {
			w.line('+', line, differs(line, old, i))
		}
		at = c.end
	}
	w.same(at, to)
}

// masked returns lines without their secrets. The first line begins at position at.
func masked(secrets scrub.Secrets, at int, lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		end := at + len(body(line))
		out[i] = secrets.Show(at, end) + ending(line)
		at += len(line)
	}
	return out
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

func (w *diffWriter) same(from, to int) {
	for _, line := range masked(w.old, from, SplitLines(w.before[from:to])) {
		w.line(' ', line, 0)
	}
}

func (w *diffWriter) fits(n int) bool { return w.missing == 0 && w.out.Len()+n <= w.most }

// line writes one line. At is where it differs from the line that it replaces.
func (w *diffWriter) line(mark byte, line string, at int) {
	const longest = 400
	text, end := strings.ToValidUTF8(excerpt(body(line), at, longest), "\uFFFD"), ending(line)
	if w.marked && end == "\r\n" {
		text += "␍"
	}
	if !w.fits(len(text) + 2) {
		w.missing++
		return
	}
	w.out.WriteString(string(mark) + text + "\n")
	if end == "" {
		w.out.WriteString("\\ No newline at end of file\n")
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
		for _, line := range append(c.old[:len(c.old):len(c.old)], c.new...) {
			seen[ending(line)] = true
		}
	}
	return seen["\n"] && seen["\r\n"]
}

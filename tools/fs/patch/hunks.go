package patch

import (
	"fmt"
	"strings"
)

// hunks parses the hunks of one file of a unified diff.
func (r *reader) hunks(f *File) error {
	for strings.HasPrefix(r.peek(), "@@") {
		h := Hunk{At: r.line()}
		header := r.peek()
		n, numbered := parseRanges(header)
		if strings.HasPrefix(header, "@@@") || !numbered && strings.HasPrefix(header, "@@ -") {
			return invalid("line %d of the patch cannot be parsed: %.80q", h.At, header).
				Try(`a hunk begins with "@@ -12,3 +12,4 @@", or with "@@" alone`)
		}
		r.at++
		if numbered {
			h.Numbered, h.Start = true, n.oldStart
			if err := r.counted(f, &h, n); err != nil {
				return err
			}
		} else {
			h.lead(header)
			if err := r.uncounted(&h); err != nil {
				return err
			}
		}
		if len(h.Lines) == 0 {
			return invalid("hunk %d of %q, at line %d of the patch, has no lines", len(f.Hunks)+1, f.Path, h.At)
		}
		if err := h.checkEnds(); err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	return nil
}

// counted parses as many lines as the header announces. It refuses another number, since the patch may have been cut
// off.
func (r *reader) counted(f *File, h *Hunk, n ranges) error {
	start := r.at
	before, after := n.oldCount, n.newCount
	for before > 0 || after > 0 {
		if r.noEnd(h) {
			continue
		}
		l, ok := body(r.peek())
		if r.done() || !ok {
			return r.miscounted(f, h, start, n)
		}
		if l.Kind != Added {
			before--
		}
		if l.Kind != Removed {
			after--
		}
		if before < 0 || after < 0 {
			return r.miscounted(f, h, start, n)
		}
		h.Lines = append(h.Lines, l)
		r.at++
	}
	r.noEnd(h)
	next := reader{lines: r.lines, at: r.at}
	for !next.done() && strings.TrimSpace(next.peek()) == "" {
		next.at++
	}
	if next.done() || next.outside() || next.signature() {
		return nil
	}
	return r.miscounted(f, h, start, n)
}

// noEnd parses the note about a missing newline at the end of the file. The note belongs to the line
// before it.
func (r *reader) noEnd(h *Hunk) bool {
	if !strings.HasPrefix(r.peek(), `\`) || len(h.Lines) == 0 {
		return false
	}
	h.Lines[len(h.Lines)-1].NoEnd = true
	r.at++
	return true
}

// outside reports whether the next line cannot belong to a hunk.
func (r *reader) outside() bool {
	_, ok := body(r.peek())
	return !ok || r.header()
}

// miscounted returns the error about a wrong header, with the right one.
func (r *reader) miscounted(f *File, h *Hunk, start int, n ranges) error {
	before, after, blank := 0, 0, 0
	for r.at = start; !r.done() && (!r.outside() || strings.HasPrefix(r.peek(), `\`)); r.at++ {
		l, ok := body(r.peek())
		switch {
		case !ok:
			continue
		case r.peek() == "":
			blank++
			continue
		}
		before, after, blank = before+blank, after+blank, 0
		if l.Kind != Added {
			before++
		}
		if l.Kind != Removed {
			after++
		}
	}
	right := fmt.Sprintf("@@ -%d,%d +%d,%d @@", n.oldStart, before, n.newStart, after)
	return invalid("hunk %d of %q, at line %d of the patch, announces %d old and %d new lines but has %d and %d",
		len(f.Hunks)+1, f.Path, h.At, n.oldCount, n.newCount, before, after).
		Try("if none is missing its header should be %q", right)
}

// uncounted parses lines up to the next hunk or file. It refuses a line in between that lacks its first character.
func (r *reader) uncounted(h *Hunk) error {
	for !r.done() && !r.outside() {
		l, _ := body(r.peek())
		h.add(l, r.peek() == "")
		r.at++
		r.noEnd(h)
	}
	line := r.peek()
	for _, start := range []string{"@@", "diff ", oldHeader, "Index: ", "Only in ", "```"} {
		if strings.HasPrefix(line, start) {
			return nil
		}
	}
	endsHere := r.at == len(r.lines)-1 && strings.ToUpper(line) == line && !strings.Contains(line, " ")
	if r.done() || endsHere { // the end of a here-document
		return nil
	}
	return errNotInHunk(r.line(), line)
}

// checkEnds refuses lines after the end of the file.
func (h Hunk) checkEnds() error {
	for _, kind := range []Kind{Added, Removed} {
		side := without(h.Lines, kind)
		for i, l := range side {
			if l.NoEnd && i < len(side)-1 {
				return invalid("the hunk at line %d of the patch continues after the end of the file", h.At)
			}
		}
	}
	return nil
}

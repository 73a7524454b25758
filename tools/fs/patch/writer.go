package patch

import "strings"

// A writer builds a file from old and new lines.
type writer struct {
	lines []string // the old lines
	next  int      // first line that was neither kept nor replaced
	b     strings.Builder
	open  bool // the last written line has no ending yet
}

// keep writes the old lines up to one.
func (w *writer) keep(to int) {
	for ; w.next < to; w.next++ {
		w.line(w.lines[w.next], w.ending(w.next))
	}
}

// line writes one line unchanged. It writes ending first if the line before had none.
func (w *writer) line(line, ending string) {
	if w.open {
		w.b.WriteString(ending)
	}
	w.b.WriteString(line)
	w.open = !strings.HasSuffix(line, "\n")
}

// ending returns the line ending around an old line, of the line before rather than those after.
func (w *writer) ending(at int) string {
	for _, i := range []int{at, at - 1, at + 1, 0} {
		if i >= 0 && i < len(w.lines) && strings.HasSuffix(w.lines[i], "\n") {
			if strings.HasSuffix(w.lines[i], "\r\n") {
				return "\r\n"
			}
			return "\n"
		}
	}
	return "\n"
}

// hunk writes the lines of a hunk in place of old ones. Context lines keep the bytes of the file.
func (w *writer) hunk(p place) {
	in := newIndents(w.lines[p.start:p.start+p.n], p)
	marked := Hunk{Lines: p.lines}.ends()
	// The last line of the file gets no ending if it had none.
	last, end := -1, len(w.lines)
	if !p.literal && !marked && p.start+p.n == end && end > 0 && !strings.HasSuffix(w.lines[end-1], "\n") {
		last = len(p.lines) - 1
		for last >= 0 && p.lines[last].Kind == Removed {
			last--
		}
	}
	for i, l := range p.lines {
		switch l.Kind {
		case Removed:
			w.next++
		case Context:
			w.line(w.lines[w.next], w.ending(w.next))
			w.next++
		case Added:
			ending := w.ending(w.next - 1)
			w.line(in.line(l, p.literal, i == last, ending), ending)
		}
	}
}

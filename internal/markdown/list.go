package markdown

import (
	"iter"
	"strings"
)

// item takes an item of a list with all that is in it: what is indented to
// where its content begins, and lines that go on with its paragraph.
func (s *scanner) item(b *block, line string) {
	b.kind = item
	before, _ := indent(s.line)
	bytes, columns := marker(line)
	content := before + columns
	open, inFence := openFence(inner(line))
	empty := blank(line[bytes:])
	s.take(b)
	for gap := false; !s.over; {
		if blank(s.line) {
			if empty {
				return
			}
			gap = true
			s.step()
			continue
		}
		deep, _ := indent(s.line)
		text := inner(s.line)
		switch {
		case deep < content && (gap || inFence || interrupts(s.line) || startsItem(s.line)):
			return
		case inFence:
			inFence = !open.closes(trimIndent(s.line))
		case deep >= content:
			open, inFence = openFence(text)
		}
		gap, empty = false, false
		s.take(b)
	}
}

func startsItem(line string) bool {
	line, flat := shallow(line)
	return flat && isItem(line)
}

func trimIndent(line string) string {
	_, bytes := indent(line)
	return line[bytes:]
}

// unquoted returns the line without indentation and the > of quotes.
func unquoted(line string) string {
	for {
		line = trimIndent(line)
		if !strings.HasPrefix(line, ">") {
			return line
		}
		line = line[1:]
	}
}

// parts returns what an item or a quote that is too large is taken apart into: the
// code blocks in it, and the lines between them up to the next blank line or
// inner item.
func (b block) parts(text string) iter.Seq[block] {
	return func(yield func(block) bool) {
		var part block // from is 0 before the first
		var open fence
		inFence, begun := false, false
		for r := read(text[:b.end], b.start, b.from); !r.over; r.step() {
			line := inner(r.line)
			begun = begun && (inFence || !blank(line))
			if blank(r.line) {
				continue
			}
			f, opens := openFence(line)
			opens = opens && !inFence
			if !begun || opens || !inFence && isItem(trimIndent(r.line)) {
				if part.from > 0 && !yield(part) {
					return
				}
				part, begun = block{from: r.no, start: r.at}, true
			}
			part.to, part.end = r.no, r.end()
			if opens {
				open, inFence = f, true
				part.kind, part.lang = code, f.lang
			} else if inFence && open.closes(unquoted(r.line)) {
				inFence, begun = false, false
			}
		}
		yield(part)
	}
}

package page

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// writer lays out text: it joins what is on one line, keeps blocks apart, and
// begins each line with what the lists and quotes around it want. Text that
// would look like Markdown is escaped; only our own marks are marks. What is
// beyond its limit is not written.
type writer struct {
	buf   []byte
	limit int
	full  bool
	plain bool // no marks, nothing is escaped
	cell  bool // all is on one line of a table

	nests []nesting
	gap   int  // line breaks that are owed
	held  bool // no more of them: an item or a quote has begun, and nothing is in it yet
	space bool // a blank is owed
	fresh bool // nothing is on the line yet
	start int  // where the line has its own text
	quiet bool // the line begins with a mark of ours, so it is none of its own
	marks []mark
}

// nesting is what lines within a list item or a quote begin with.
type nesting struct {
	first, rest string
	used        bool
}

// maxNests is how many levels are shown; those deeper look like the last.
const maxNests = 12

// mark is a pair of marks around some text. They are written when there is text.
type mark struct {
	open, shut    string
	written, once bool
	done          bool
}

func newWriter(limit int, plain bool) *writer {
	return &writer{limit: limit, plain: plain, fresh: true}
}

// nest makes the lines that follow begin with something.
func (w *writer) nest(first, rest string) {
	if len(w.nests) >= maxNests || w.cell {
		first, rest = "", ""
	}
	w.nests = append(w.nests, nesting{first: first, rest: rest})
	w.held = true
}

func (w *writer) leave() {
	w.nests = w.nests[:len(w.nests)-1]
	w.held = false
}

// block ends the line; what follows is that many line breaks away.
func (w *writer) block(gap int) {
	if w.cell {
		w.space = true
		return
	}
	for i := range slices.Backward(w.marks) {
		w.shut(i)
	}
	if !w.fresh {
		w.endLine()
		w.fresh = true
		w.gap = 0
	}
	if !w.held {
		w.gap = max(w.gap, gap)
	}
	w.space = false
}

// tight makes the next block follow without a blank line.
func (w *writer) tight() { w.gap = min(w.gap, 1) }

// begin writes what is owed before there can be text.
func (w *writer) begin() {
	if len(w.buf) > w.limit {
		w.full = true
		return
	}
	if w.fresh {
		w.newLine()
	} else if w.space && len(w.buf) > w.start {
		w.endWord()
		w.buf = append(w.buf, ' ')
	}
	w.space = false
	for i := range w.marks {
		if m := &w.marks[i]; !m.written && !m.done {
			w.opening(m.open)
			m.written = true
		}
	}
}

// opening writes the first mark of a pair. An exclamation mark before a link
// would make it a picture.
func (w *writer) opening(open string) {
	if last := len(w.buf) - 1; open == "[" && last >= w.start && w.buf[last] == '!' {
		w.buf = append(w.buf[:last], `\!`...)
	}
	if open != "" && len(w.buf) == w.start {
		w.quiet = true
	}
	w.buf = append(w.buf, open...)
}

func (w *writer) newLine() {
	if w.cell {
		w.fresh, w.start = false, len(w.buf)
		return
	}
	if len(w.buf) > 0 {
		for i := range max(w.gap, 1) {
			if i > 0 {
				w.prefix(true)
			}
			w.buf = append(w.buf, '\n')
		}
	}
	w.prefix(false)
	w.fresh, w.held, w.gap, w.start, w.quiet = false, false, 0, len(w.buf), false
}

// prefix writes what a line begins with. On a blank line only what has begun
// before it counts, without blanks at the end.
func (w *writer) prefix(blank bool) {
	from := len(w.buf)
	for i := range w.nests {
		n := &w.nests[i]
		switch {
		case n.used:
			w.buf = append(w.buf, n.rest...)
		case !blank:
			w.buf = append(w.buf, n.first...)
			n.used = true
		}
	}
	for blank && len(w.buf) > from && w.buf[len(w.buf)-1] == ' ' {
		w.buf = w.buf[:len(w.buf)-1]
	}
}

// push opens a pair of marks, pop closes it.
func (w *writer) push(open, shut string, once bool) {
	if w.plain {
		open, shut = "", ""
	}
	w.marks = append(w.marks, mark{open: open, shut: shut, once: once})
}

func (w *writer) pop() {
	last := len(w.marks) - 1
	w.shut(last)
	w.marks = w.marks[:last]
}

func (w *writer) shut(i int) {
	if m := &w.marks[i]; m.written {
		w.buf = append(w.buf, m.shut...)
		m.written, m.done = false, m.once
	}
}

// raw writes something of ours as it is, as part of the line.
func (w *writer) raw(text string) {
	if text == "" {
		return
	}
	w.begin()
	if w.full {
		return
	}
	if len(w.buf) == w.start {
		w.quiet = true
	}
	w.buf = append(w.buf, text...)
}

// verbatim writes lines as they are, each with what lines begin with.
func (w *writer) verbatim(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if len(w.buf) > w.limit {
			w.full = true
			return
		}
		w.newLine()
		w.buf = append(w.buf, line...)
		if line == "" { // no blanks at the end
			for len(w.buf) > 0 && w.buf[len(w.buf)-1] == ' ' {
				w.buf = w.buf[:len(w.buf)-1]
			}
		}
		w.fresh, w.gap = true, 1
	}
}

// lineBreak ends a line within a block. Two of them end the block.
func (w *writer) lineBreak() {
	switch {
	case w.cell:
		w.space = true
	case w.fresh && w.gap == 1:
		w.gap = 2
	case !w.fresh:
		w.endLine()
		open := slices.ContainsFunc(w.marks, func(m mark) bool { return m.written })
		if open { // marks do not end at a line break
			w.buf = append(w.buf, '\n')
			w.prefix(false)
			w.start, w.space, w.quiet = len(w.buf), false, false
			return
		}
		w.fresh, w.gap, w.space = true, 1, false
	}
}

// text writes text; blanks in it become one.
func (w *writer) text(text string) {
	for text != "" && !w.full {
		end := strings.IndexAny(text, " \n\t\r\f")
		if end < 0 {
			end = len(text)
		}
		if end > 0 {
			w.begin()
			if w.full {
				return
			}
			if w.plain {
				w.buf = append(w.buf, text[:end]...)
			} else {
				w.escape(text[:end], end < len(text))
			}
		}
		if end < len(text) {
			w.space = w.space || !w.fresh
			for end < len(text) && blankByte(text[end]) {
				end++
			}
		}
		text = text[end:]
	}
}

// endWord looks at the first word of a line, behind which a blank comes now: if
// it would make the line an item of a list or a heading, it is escaped.
func (w *writer) endWord() {
	own := w.buf[w.start:]
	if w.plain || w.quiet || len(own) > 10 || len(own) == 0 {
		return
	}
	at := -1
	switch trimmed := strings.TrimLeft(string(own), "0123456789"); {
	case string(own) == "-" || string(own) == "+" || string(own) == "*" || strings.Trim(string(own), "#") == "":
		at = 0
	case trimmed == "." || trimmed == ")":
		at = len(own) - 1
	case own[0] == ':' && len(own) == 1:
		at = 0
	}
	if at >= 0 {
		w.buf = slices.Insert(w.buf, w.start+at, '\\')
	}
}

// endLine looks at a line that ends: a line of dashes would be a rule, or make a
// heading of the one before.
func (w *writer) endLine() {
	w.endWord()
	own := w.buf[w.start:]
	if w.plain || w.quiet || len(own) == 0 || strings.IndexByte("-=_*|:+", own[0]) < 0 {
		return
	}
	for _, c := range own {
		if strings.IndexByte("-=_*|: +", c) < 0 {
			return
		}
	}
	w.buf = slices.Insert(w.buf, w.start, '\\')
}

// String is what was written.
func (w *writer) String() string {
	if !w.fresh {
		for i := range slices.Backward(w.marks) {
			w.shut(i)
		}
		w.endLine()
	}
	text := strings.TrimRight(string(w.buf), " \n")
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "")
	}
	return text
}

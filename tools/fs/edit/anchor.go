package edit

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

const maxAnchor = 40 // bytes of a wrong anchor that an error shows

// A mark is an anchor: the number of a line and the digest of its text, such as 12#a3.
type mark struct {
	line int // from 1
	tag  string
}

// parseMarks parses the anchors of the first and the last line. It ignores a bar and the text after it: the text of
// the line.
func parseMarks(at string) (first, last mark, err error) {
	marks, _, _ := strings.Cut(at, "|")
	from, to, two := strings.Cut(marks, "-")
	if !two {
		to = from
	}
	first, ok := parseMark(from)
	last, also := parseMark(to)
	if !ok || !also || last.line < first.line {
		return first, last, tool.Errorf(tool.Invalid, "at is %q, which is not an anchor", text.Clip(at, maxAnchor)).
			Try("use anchors of read_file: 12#a3 for one line, 12#a3-15#f1 for several")
	}
	return first, last, nil
}

func parseMark(text string) (mark, bool) {
	number, tag, ok := strings.Cut(strings.TrimSpace(text), "#")
	line, err := strconv.Atoi(number)
	return mark{line, tag}, ok && err == nil && line > 0 && tag != ""
}

// applyAt makes e in the lines that its anchors name.
func (d *draft) applyAt(e Edit) ([]match, error) {
	first, last, err := parseMarks(e.At)
	if err != nil {
		return nil, err
	}
	start := linesAfter(d.original, 0, first.line-1)
	tail := linesAfter(d.original, start, last.line-first.line)
	end := linesAfter(d.original, tail, 1)
	if tail == end {
		return nil, tool.Errorf(tool.Conflict, "there is no line %d; the file has %d", last.line,
			len(SplitLines(d.original))).
			Try("read it again with anchors")
	}
	for _, m := range []struct {
		mark
		from int
	}{{first, start}, {last, tail}} {
		line := d.original[m.from:endOfLine(d.original, m.from)]
		if textfile.Anchor([]byte(line)) != m.tag {
			return nil, d.moved(m.mark, m.from)
		}
	}
	from, to, ok := d.now(start, end)
	if !ok {
		return nil, tool.Errorf(tool.Invalid, "%s was already changed by an earlier edit of this call",
			lineRange(first.line, last.line)).
			Try("put both changes into one edit")
	}
	if e.Old == "" {
		return d.replace([]match{{start: from, end: to}}, []string{d.asLines(e.New, from, to)})
	}
	return d.rewrite(e, from, to)
}

// asLines returns new as whole lines, with the line endings of the lines that it replaces.
func (d *draft) asLines(new string, from, to int) string {
	newline := newlineNear(d.text, from)
	var b strings.Builder
	for _, line := range SplitLines(new) {
		b.WriteString(body(line) + newline)
	}
	if ending(d.text[from:to]) == "" {
		return strings.TrimSuffix(b.String(), newline)
	}
	return b.String()
}

// moved returns the error that the line at position at does not have the anchor m. It shows the lines there.
func (d *draft) moved(m mark, at int) error {
	const around, widest = 3, 200
	from := linesBefore(d.original, at, around)
	first := m.line - countLines(d.original[from:at])
	var lines, marks strings.Builder
	for i, line := range SplitLines(d.original[from:linesAfter(d.original, at, around+1)]) {
		text := d.hidden.Show(from, from+len(body(line)))
		from += len(line)
		lines.WriteString("\n" + strings.ToValidUTF8(excerpt(text, 0, widest), "\uFFFD"))
		fmt.Fprintf(&marks, " %d#%s", first+i, textfile.Anchor([]byte(line)))
	}
	return tool.Errorf(tool.Conflict, "line %d does not have the anchor %s: the line has changed or moved",
		m.line, text.Clip(m.tag, maxAnchor)).
		Try("use these anchors:%s\nof these lines:%s", marks.String(), lines.String())
}

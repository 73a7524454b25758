package patch

import (
	"strconv"
	"strings"
)

type form uint8

const (
	unknownForm form = iota
	envelopeForm
	unifiedForm
)

// A reader reads the lines of a patch.
type reader struct {
	lines []string
	at    int
}

// newReader splits text into lines. Carriage returns at the end of every line come from the transport and are removed;
// others belong to the content.
func newReader(text string) *reader {
	lines := strings.Split(strings.TrimPrefix(text, "\uFEFF"), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for _, line := range lines {
		if !strings.HasSuffix(line, "\r") {
			return &reader{lines: lines}
		}
	}
	for i, line := range lines {
		lines[i] = line[:len(line)-1]
	}
	return &reader{lines: lines}
}

func (r *reader) done() bool { return r.at >= len(r.lines) }

// line returns the number of the next line, from 1.
func (r *reader) line() int { return r.at + 1 }

// peek returns the next line, or one that matches nothing at the end.
func (r *reader) peek() string { return r.ahead(0) }

func (r *reader) ahead(n int) string {
	if r.at+n < len(r.lines) {
		return r.lines[r.at+n]
	}
	return ""
}

// form detects the form by the first line that begins a patch.
func (r *reader) form() form {
	for i := range r.lines {
		at := reader{lines: r.lines, at: i}
		line := at.peek()
		switch {
		case strings.HasPrefix(line, beginPatch), section(line) != "":
			return envelopeForm
		case strings.HasPrefix(line, gitHeader), strings.HasPrefix(line, "@@"), at.header():
			return unifiedForm
		}
	}
	return unknownForm
}

// body parses one line of a hunk. An empty line is a context line without its blank.
func body(line string) (Line, bool) {
	if line == "" || line == "\r" {
		return Line{Kind: Context, Text: line}, true
	}
	switch kind := Kind(line[0]); kind {
	case Context, Added, Removed:
		return Line{Kind: kind, Text: line[1:]}, true
	}
	return Line{}, false
}

// add adds a line. Lines at the end that are quite empty may be missing in the file.
func (h *Hunk) add(l Line, empty bool) {
	if h.Lines = append(h.Lines, l); empty {
		h.loose++
	} else {
		h.loose = 0
	}
}

// A ranges is the header of a numbered hunk.
type ranges struct{ oldStart, oldCount, newStart, newCount int }

// parseRanges parses "@@ -1,2 +3,4 @@" and ignores the text after it.
func parseRanges(line string) (ranges, bool) {
	rest, ok := strings.CutPrefix(line, "@@ -")
	if !ok {
		return ranges{}, false
	}
	before, rest, ok := strings.Cut(rest, " +")
	if !ok {
		return ranges{}, false
	}
	after, _, ok := strings.Cut(rest, " @@")
	if !ok {
		return ranges{}, false
	}
	var r ranges
	var okOld, okNew bool
	r.oldStart, r.oldCount, okOld = parseRange(before)
	r.newStart, r.newCount, okNew = parseRange(after)
	return r, okOld && okNew
}

// parseRange parses "12,3", or "12" for one line.
func parseRange(text string) (start, count int, ok bool) {
	const most = 1 << 30
	first, second, both := strings.Cut(text, ",")
	start, err := strconv.Atoi(first)
	if err != nil || start < 0 || start > most {
		return 0, 0, false
	}
	if !both {
		return start, 1, true
	}
	count, err = strconv.Atoi(second)
	return start, count, err == nil && count >= 0 && count <= most
}

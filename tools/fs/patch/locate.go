package patch

import (
	"fmt"
	"slices"
	"strings"
)

// maxPlaces limits the places that an error lists.
const maxPlaces = 20

// locate returns where the file has the wanted lines with one look, -1 for nowhere, and an error if it is ambiguous.
func (a *applier) locate(number int, h Hunk, wanted []Line, at int) (int, []string, error) {
	v := a.find.view(at)
	ids, ok := v.numbers(wanted, at)
	if !ok {
		return -1, nil, nil
	}
	free := func(line int) bool { return a.free(line, len(ids)) }
	if start := h.Start - 1 + a.shift; h.Numbered && a.find.at(v, ids, start) && free(start) {
		return start, nil, nil
	}
	var found []int
	var note []string
	if len(h.Anchors) > 0 {
		below, known := a.anchored(h.Anchors)
		if !known {
			note = []string{fmt.Sprintf("the line %.80q of its @@ was not found", h.Anchors[len(h.Anchors)-1])}
		}
		for _, line := range below {
			a.find.steps -= len(found) + 1
			if a.find.steps <= 0 {
				break
			}
			for _, start := range a.nextBelow(v, ids, line, free) {
				if !slices.Contains(found, start) {
					found = append(found, start)
				}
			}
		}
	}
	if len(found) == 0 {
		found = a.find.from(v, ids, a.cursor, maxPlaces, free)
	}
	if len(found) == 0 {
		found = a.find.from(v, ids, 0, maxPlaces, free)
	}
	switch {
	case a.find.steps <= 0:
		return -1, nil, errorf("finding where hunk %d belongs takes too long",
			number).try("give its line number, as in @@ -12,3 +12,4 @@")
	case len(found) > 1:
		return -1, nil, a.ambiguous(number, h, found)
	case len(found) == 0:
		return -1, nil, nil
	}
	return found[0], note, nil
}

// atEnd finds the wanted lines at the end of the file, if h must be there, with the strictest look that does. start is
// -1 if it finds none.
func (a *applier) atEnd(h Hunk, wanted []Line) (start, look int) {
	if !h.AtEnd && !h.ends() {
		return -1, 0
	}
	start = len(a.lines) - len(wanted)
	for look := range looks {
		v := a.find.view(look)
		if ids, ok := v.numbers(wanted, look); ok && a.find.at(v, ids, start) && a.free(start, len(ids)) {
			return start, look
		}
	}
	return -1, 0
}

// free reports whether no hunk has any of n lines.
func (a *applier) free(line, n int) bool {
	return !slices.Contains(a.taken[line:line+n], true)
}

// ends reports whether h must be at the end of the file.
func (h Hunk) ends() bool {
	return slices.ContainsFunc(h.Lines, func(l Line) bool { return l.NoEnd })
}

// nextBelow returns the first place after a line, preferring places after the last hunk.
func (a *applier) nextBelow(v *view, ids []int32, line int, free func(int) bool) []int {
	if found := a.find.from(v, ids, max(line, a.cursor), 1, free); len(found) > 0 {
		return found
	}
	return a.find.from(v, ids, line, 1, free)
}

// anchored follows anchors, each after the one before, from every line that matches the first. It returns the lines
// that it reaches; known is false if no line matches.
func (a *applier) anchored(anchors []string) (below []int, known bool) {
	first := a.like(anchors[0])
	for _, line := range first[:min(len(first), 1000)] {
		if a.find.steps -= len(below) + len(anchors); a.find.steps <= 0 {
			break
		}
		for _, anchor := range anchors[1:] {
			next := a.like(anchor)
			i, _ := slices.BinarySearch(next, int32(line+1))
			if i == len(next) {
				line = -1
				break
			}
			line = next[i]
		}
		if line >= 0 && !slices.Contains(below, int(line)) {
			below = append(below, int(line))
		}
	}
	return below, len(below) > 0
}

// like returns the lines that match an anchor with the strictest look that finds any, or else those that contain it.
func (a *applier) like(anchor string) []int32 {
	for at := lookEndings; at < len(looks); at++ {
		v := a.find.view(at)
		if lines := v.places[v.ids[looks[at].key(anchor)]]; len(lines) > 0 {
			return lines
		}
	}
	var lines []int32
	part := strings.TrimSpace(anchor)
	for i, line := range a.lines {
		if a.find.steps -= 1 + len(line)/64; a.find.steps <= 0 {
			break
		}
		if len(part) >= 3 && strings.Contains(line, part) {
			lines = append(lines, int32(i))
		}
	}
	return lines
}

// insertion finds where a hunk belongs that only adds lines.
func (a *applier) insertion(number int, h Hunk, lines []Line) (place, []string, error) {
	p := place{start: len(a.lines), number: number, lines: lines}
	switch {
	case a.file.Op == Add:
		p.literal = true
	case h.Numbered && !h.AtEnd:
		p.literal = !a.crlf
		if p.start = h.Start + a.shift; p.start < 0 || p.start > len(a.lines) {
			e := errorf("hunk %d adds lines after line %d, and the file has %d", number, h.Start, len(a.lines))
			e.Mismatch = true
			return p, nil, e.try("read the file and send the patch for it as it is")
		}
	case len(h.Anchors) > 0 && !h.AtEnd:
		below, known := a.anchored(h.Anchors)
		if !known {
			return p, nil, a.lost(number, h.Anchors)
		}
		if len(below) > 1 {
			return p, nil, a.ambiguous(number, h, below)
		}
		p.start = below[0] + 1
	case len(a.lines) > 0 && !h.AtEnd:
		return p, []string{"added at the end of the file"}, nil
	}
	return p, nil, nil
}

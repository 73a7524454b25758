package patch

import (
	"slices"
	"strings"
)

// A look is a way to compare lines: those with equal keys are equal.
type look struct {
	name string // what it ignores
	key  func(line string) string
}

const (
	lookEndings = 1
	lookAround  = 3
)

// looks are all ways to compare lines, the strictest first.
var looks = [...]look{
	{"", func(line string) string { return line }},
	{"line endings", withoutEnding},
	{"blanks at the end of lines", func(line string) string { return strings.TrimRight(line, " \t\r\n\v\f") }},
	{"indentation", strings.TrimSpace},
	{"indentation and the style of quotes and dashes",
		func(line string) string { return plain(strings.TrimSpace(line)) }},
}

func withoutEnding(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// plain replaces typographic quotes, dashes and blanks by ASCII.
func plain(line string) string {
	for i := range len(line) {
		if line[i] >= 0x80 {
			return strings.TrimSpace(strings.Map(plainRune, line))
		}
	}
	return line
}

func plainRune(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', '`', '´':
		return '\''
	case '“', '”', '„', '‟', '″', '«', '»':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−':
		return '-'
	case '\u00A0', '\u202F', '\u205F', '\u3000':
		return ' '
	}
	if r >= '\u2000' && r <= '\u200A' {
		return ' '
	}
	return r
}

// maxSteps limits the comparisons for one file.
const maxSteps = 50_000_000

// A finder finds lines of a patch in a file. For each look it numbers the distinct lines of the patch, and records
// where the file has them.
type finder struct {
	lines []string
	hunks []Hunk
	views [len(looks)]view
	steps int
}

// A view is a file in the form of one look.
type view struct {
	ids    map[string]int32 // ids of lines of the patch, by key
	file   []int32          // id of each line of the file; 0 if the patch does not have it
	places [][]int32        // lines of the file, by id
}

func newFinder(lines []string, hunks []Hunk) finder {
	return finder{lines: lines, hunks: hunks, steps: maxSteps}
}

// key returns the key of a line for a look.
func (l Line) key(at int) string {
	if at == 0 && !l.NoEnd {
		return l.Text + "\n"
	}
	return looks[at].key(l.Text)
}

// view returns the view of a look, which it makes at the first use.
func (f *finder) view(at int) *view {
	v := &f.views[at]
	if v.ids != nil {
		return v
	}
	v.ids = make(map[string]int32)
	number := func(key string) {
		if v.ids[key] == 0 {
			v.ids[key] = int32(len(v.ids) + 1)
		}
	}
	for _, h := range f.hunks {
		for _, anchor := range h.Anchors {
			number(looks[at].key(anchor))
		}
		for _, l := range h.Lines {
			number(l.key(at))
		}
	}
	v.file = make([]int32, len(f.lines))
	v.places = make([][]int32, len(v.ids)+1)
	for i, line := range f.lines {
		if id := v.ids[looks[at].key(line)]; id > 0 {
			v.file[i] = id
			v.places[id] = append(v.places[id], int32(i))
		}
	}
	return v
}

// numbers returns the ids of the lines of a hunk. ok is false if the file lacks one of them.
func (v *view) numbers(lines []Line, at int) (ids []int32, ok bool) {
	ids = make([]int32, len(lines))
	for i, l := range lines {
		if ids[i] = v.ids[l.key(at)]; len(v.places[ids[i]]) == 0 {
			return nil, false
		}
	}
	return ids, true
}

// at reports whether the file has the ids at a line.
func (f *finder) at(v *view, ids []int32, line int) bool {
	if line < 0 || line+len(ids) > len(v.file) {
		return false
	}
	for i, id := range ids {
		f.steps--
		if v.file[line+i] != id {
			return false
		}
	}
	return true
}

// from returns at most most places of the ids at or after a line that free allows. It searches for the rarest id.
func (f *finder) from(v *view, ids []int32, line, most int, free func(line int) bool) []int {
	rare := 0
	for i, id := range ids {
		if len(v.places[id]) < len(v.places[ids[rare]]) {
			rare = i
		}
	}
	places := v.places[ids[rare]]
	first, _ := slices.BinarySearch(places, int32(line+rare))
	var found []int
	for _, p := range places[first:] {
		start := int(p) - rare
		if f.at(v, ids, start) && free(start) {
			found = append(found, start)
		}
		if len(found) == most || f.steps <= 0 {
			break
		}
	}
	return found
}

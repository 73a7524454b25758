package patch

import (
	"slices"
	"strings"
)

// A look is a way to compare lines. Equal keys are equal lines.
type look struct {
	name string // what it ignores
	key  func(line string) string
}

const (
	lookEndings = 1
	lookAround  = 3
)

// looks are all of them, the strictest first.
var looks = [...]look{
	{"", func(line string) string { return line }},
	{"line endings", withoutEnding},
	{"blanks at the end of lines", func(line string) string { return strings.TrimRight(line, " \t\r\n\v\f") }},
	{"indentation", strings.TrimSpace},
	{"indentation and the style of quotes and dashes", func(line string) string { return plain(strings.TrimSpace(line)) }},
}

func withoutEnding(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// plain writes typographic quotes, dashes and blanks as a keyboard does.
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

// mostSteps bounds the comparisons for one file.
const mostSteps = 50_000_000

// A finder finds lines of a patch in a file. For each look it numbers the lines
// that the patch speaks of, and notes where the file has them.
type finder struct {
	lines []string
	hunks []Hunk
	views [len(looks)]view
	steps int
}

// A view is a file as one look sees it.
type view struct {
	ids    map[string]int32 // lines of the patch
	file   []int32          // by line of the file: its id; 0 when the patch does not speak of it
	places [][]int32        // by id: lines of the file
}

func newFinder(lines []string, hunks []Hunk) finder {
	return finder{lines: lines, hunks: hunks, steps: mostSteps}
}

// key is how a line of a patch is looked for.
func (l Line) key(at int) string {
	if at == 0 && !l.NoEnd {
		return l.Text + "\n"
	}
	return looks[at].key(l.Text)
}

// view makes the view of a look when it is needed first.
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

// numbers are the ids of lines of a hunk, ok when the file has all of them.
func (v *view) numbers(lines []Line, at int) (ids []int32, ok bool) {
	ids = make([]int32, len(lines))
	for i, l := range lines {
		if ids[i] = v.ids[l.key(at)]; len(v.places[ids[i]]) == 0 {
			return nil, false
		}
	}
	return ids, true
}

// at reports whether ids are at a line of the file.
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

// from finds up to most places of ids at or below a line, that free allows. It
// looks where the rarest of them are.
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

package lsp

import (
	"errors"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A Text is the text of a file, with positions as servers count them.
type Text struct {
	all    string
	starts []int // of the lines
}

// NewText returns a Text.
func NewText(all string) *Text {
	t := &Text{all: all, starts: []int{0}}
	for i := 0; i < len(all); i++ {
		if all[i] == '\n' {
			t.starts = append(t.starts, i+1)
		}
	}
	return t
}

// Lines returns the number of lines. A text that ends with a line break has an empty last line.
func (t *Text) Lines() int { return len(t.starts) }

// Span returns where a line, counted from 0, begins and ends, without its line break.
func (t *Text) Span(line int) (from, to int) {
	from, to = t.starts[line], len(t.all)
	if line+1 < len(t.starts) {
		to = t.starts[line+1] - 1
	}
	if to > from && t.all[to-1] == '\r' {
		to--
	}
	return from, to
}

// Line returns a line, counted from 0, without its line break; "" if there is no such line.
func (t *Text) Line(line int) string {
	if line < 0 || line >= len(t.starts) {
		return ""
	}
	from, to := t.Span(line)
	return t.all[from:to]
}

// Offset returns the bytes before a position. It reports false for a position that the text does not have. A position
// beyond the end of its line is the end of the line, as the protocol says.
func (t *Text) Offset(p Position) (int, bool) {
	if p.Line == len(t.starts) && p.Character == 0 {
		return len(t.all), true // some servers end a range there
	}
	if p.Line < 0 || p.Character < 0 || p.Line >= len(t.starts) {
		return 0, false
	}
	from, to := t.Span(p.Line)
	units := 0
	for i, r := range t.all[from:to] {
		if units >= p.Character {
			return from + i, units == p.Character // else it is within a character
		}
		units += max(1, utf16.RuneLen(r))
	}
	return to, p.Character < 1<<31-1
}

// Position returns the position of a byte.
func (t *Text) Position(offset int) Position {
	line, found := slices.BinarySearch(t.starts, offset)
	if !found {
		line--
	}
	units := 0
	for _, r := range t.all[t.starts[line]:offset] {
		units += max(1, utf16.RuneLen(r))
	}
	return Position{Line: line, Character: units}
}

// Apply returns the text with edits made. The edits must not overlap.
func (t *Text) Apply(edits []TextEdit) (string, error) {
	type part struct {
		from, to int
		with     string
	}
	var parts []part
	for _, e := range edits {
		from, ok := t.Offset(e.Range.Start)
		to, also := t.Offset(e.Range.End)
		if !ok || !also || to < from {
			return "", errors.New("an edit is outside of its file")
		}
		if !utf8.ValidString(e.New) {
			return "", errors.New("an edit has text that is not UTF-8")
		}
		parts = append(parts, part{from, to, e.New})
	}
	slices.SortStableFunc(parts, func(a, b part) int { return a.from - b.from })
	var b strings.Builder
	at := 0
	for _, p := range parts {
		if p.from < at {
			return "", errors.New("two edits overlap")
		}
		b.WriteString(t.all[at:p.from])
		b.WriteString(p.with)
		at = p.to
	}
	b.WriteString(t.all[at:])
	return b.String(), nil
}

// String returns the whole text.
func (t *Text) String() string { return t.all }

// Start returns the bytes before a line, counted from 0.
func (t *Text) Start(line int) int { return t.starts[line] }

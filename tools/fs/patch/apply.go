package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// Limits of a file that is patched.
const (
	MaxFileBytes = 16 << 20
	maxFileLines = 2_000_000
)

// A Result is a patched file.
type Result struct {
	Content        []byte
	Before, After  string // decoded text, whatever the encoding of the file
	Added, Removed int    // numbers of lines
	Notes          []string
}

// Apply applies f to a file with the content before. An added file has no content before; a deleted one has none
// afterwards.
//
// A hunk belongs at its line number, or else at the only place with its old lines. These are compared byte by byte
// first, then ignoring line endings, blanks at the end, blanks on both sides, and the style of quotes and dashes. Each
// comparison must find only one place, and the notes name what was ignored. Lines that the patch does not change keep
// their bytes.
func Apply(before []byte, f File) (Result, error) {
	if len(before) > MaxFileBytes {
		return Result{}, errorf("the file has %d bytes, the maximum is %d", len(before),
			MaxFileBytes).try("change it with edit")
	}
	doc, err := textfile.Decode(before, "")
	if err != nil {
		return Result{}, err
	}
	if !doc.Lossless { // compare and keep bytes
		doc.Text = string(before)
	}
	res := Result{Before: doc.Text}
	switch {
	case len(f.Hunks) == 0 && f.Op == Delete:
		return res, nil
	case len(f.Hunks) == 0:
		res.After, res.Content = doc.Text, before
		return res, nil
	}
	if strings.Count(doc.Text, "\n") > maxFileLines {
		return Result{}, errorf("the file has more than %d lines", maxFileLines).try("change it with edit")
	}
	a := newApplier(doc.Text, f)
	for i, h := range f.Hunks {
		if err := a.add(i+1, h); err != nil {
			return Result{}, err
		}
		added, removed := h.changes()
		res.Added, res.Removed = res.Added+added, res.Removed+removed
	}
	if res.After, err = a.text(); err != nil {
		return Result{}, err
	}
	res.Notes = a.notes
	if f.Op == Delete {
		return res, checkDeleted(res.After)
	}
	res.Content, err = encode(doc, res.After)
	return res, err
}

func checkDeleted(left string) error {
	if left == "" {
		return nil
	}
	e := errorf("the file to delete has %d lines that the patch does not remove", len(edit.SplitLines(left))).
		try("delete it with *** Delete File, which asks for no lines")
	e.Mismatch = true
	return e
}

func encode(doc textfile.Doc, after string) ([]byte, error) {
	if !doc.Lossless {
		return []byte(after), nil
	}
	content, err := doc.Encode(after)
	var char *textfile.CharError
	if errors.As(err, &char) {
		return nil, errorf("the file is in %s, and %v", doc.Encoding,
			char).try("use another character, or write the whole file with write_file and encoding utf-8")
	}
	if err != nil {
		return nil, errorf("the lines to add cannot be written in %s: %v", doc.Encoding, err)
	}
	return content, nil
}

// An applier finds where hunks belong and builds the new text.
type applier struct {
	file   File
	whole  string
	lines  []string // of the old text, with their endings
	find   finder
	taken  []bool // lines that belong to a hunk
	cursor int    // line after the last hunk
	shift  int    // offset of the last hunk from its line number
	crlf   bool   // all lines of the file end in CRLF, and none of the patch
	places []place
	notes  []string
}

// A place is where a hunk belongs.
type place struct {
	start, n int // range of lines that it replaces
	number   int
	look     int // index in looks
	lines    []Line
	literal  bool // its line endings are those of the patch
}

func newPlace(number, start, look int, lines []Line) place {
	return place{start: start, n: len(old(lines)), number: number, look: look, lines: lines, literal: look == 0}
}

func newApplier(content string, f File) *applier {
	lines := edit.SplitLines(content)
	a := &applier{file: f, whole: content, lines: lines, taken: make([]bool, len(lines))}
	a.find = newFinder(lines, f.Hunks)
	a.crlf = len(lines) > 0 && strings.Count(content, "\r\n") >= max(1, strings.Count(content, "\n"))
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			a.crlf = a.crlf && !strings.HasSuffix(l.Text, "\r")
		}
	}
	return a
}

// add finds where the next hunk belongs.
func (a *applier) add(number int, h Hunk) error {
	p, note, err := a.place(number, h)
	if err != nil {
		return err
	}
	for i := p.start; i < p.start+p.n; i++ {
		a.taken[i] = true
	}
	if h.Numbered && p.n > 0 {
		if a.shift = p.start + 1 - h.Start; a.shift != 0 {
			note = append([]string{fmt.Sprintf("at line %d, not %d", p.start+1, h.Start)}, note...)
		}
	}
	if p.start < a.cursor {
		note = append(note, "above the hunk before it")
	}
	a.cursor = p.start + p.n
	a.places = append(a.places, p)
	if ignored := a.ignored(p); ignored != "" {
		note = append(note, "matched ignoring "+ignored)
	}
	if len(note) > 0 {
		a.notes = append(a.notes, fmt.Sprintf("hunk %d: %s", number, strings.Join(note, "; ")))
	}
	return nil
}

// ignored names the differences that were ignored, except a missing newline at the end of the file.
func (a *applier) ignored(p place) string {
	if p.look != lookEndings {
		return looks[p.look].name
	}
	for i, l := range old(p.lines) {
		if strings.HasSuffix(l.Text, "\r") != strings.HasSuffix(a.lines[p.start+i], "\r\n") {
			return looks[p.look].name
		}
	}
	return ""
}

// place finds where h belongs, with the strictest comparison that finds only one place.
func (a *applier) place(number int, h Hunk) (place, []string, error) {
	variants := [][]Line{h.Lines}
	if h.loose > 0 && h.loose < len(h.Lines) {
		variants = append(variants, h.Lines[:len(h.Lines)-h.loose])
	}
	for _, lines := range variants {
		wanted := old(lines)
		if len(wanted) == 0 {
			return a.insertion(number, h, lines)
		}
		if start, look := a.atEnd(h, wanted); start >= 0 {
			return newPlace(number, start, look, lines), nil, nil
		}
		for look := 0; look < len(looks) && !h.ends(); look++ {
			start, note, err := a.locate(number, h, wanted, look)
			if err != nil {
				return place{}, nil, err
			}
			if start >= 0 {
				return newPlace(number, start, look, lines), note, nil
			}
		}
	}
	return place{}, nil, a.mismatch(number, h)
}

// text returns the text with all hunks applied.
func (a *applier) text() (string, error) {
	slices.SortStableFunc(a.places, func(p, q place) int {
		if p.start != q.start {
			return p.start - q.start
		}
		return p.n - q.n
	})
	w := writer{lines: a.lines}
	w.b.Grow(len(a.whole))
	for _, p := range a.places {
		if p.start < w.next {
			return "", errorf("hunk %d overlaps another", p.number).try("join the two hunks")
		}
		w.keep(p.start)
		w.hunk(p)
	}
	w.keep(len(a.lines))
	return w.b.String(), nil
}

package patch

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/fs/edit"
	"github.com/mcp-tools/mcp-tools/tools/fs/textfile"
)

// Limits of a file that is patched.
const (
	MaxFileBytes = 16 << 20
	maxFileLines = 2_000_000
	maxSteps     = 50_000_000 // comparisons for one file
	maxPlaces    = 20         // that an error lists
)

// A Result is a patched file.
type Result struct {
	Content        []byte
	Before, After  string // decoded text, whatever the encoding of the file
	Added, Removed int    // numbers of lines
	Notes          []string
}

// Apply applies f to a file with the content before. An added file has no content before; a deleted one has none
// afterwards. Errors are written for the model; their kind is tool.Conflict if the patch does not fit the file.
//
// A hunk belongs at its line number, or else at the only place with its old lines. These are compared byte by byte
// first, then by the steps of [edit.Ladder]. Each comparison must find only one place, and the notes name the ignored
// differences. Lines that the patch does not change keep their bytes, and changed lines take over the style of the
// replaced lines.
//
// Secrets finds the secrets of the file, to keep them out of errors; nil has no known values. Only a whole line of
// the patch matches a line with a secret.
func Apply(before []byte, f File, secrets *scrub.Scrubber) (Result, error) {
	if len(before) > MaxFileBytes {
		return Result{}, invalid("the file has %d bytes, the maximum is %d", len(before), MaxFileBytes).
			Try("change it with a command")
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
	case strings.Count(doc.Text, "\n") > maxFileLines:
		return Result{}, invalid("the file has more than %d lines", maxFileLines).Try("change it with a command")
	}
	a := newApplier(doc.Text, f, secrets.Secrets(doc.Text, 0, len(doc.Text)))
	for i, h := range f.Hunks {
		if err := a.add(i+1, h); err != nil {
			return Result{}, err
		}
		res.Added += len(h.Lines) - len(without(h.Lines, Added))
		res.Removed += len(h.Lines) - len(without(h.Lines, Removed))
	}
	if res.After, err = a.text(); err != nil {
		return Result{}, err
	}
	res.Notes = a.notes
	switch {
	case f.Op == Delete && res.After != "":
		return res, conflict("the file to delete has %d lines that the patch does not remove",
			len(edit.SplitLines(res.After))).Try("delete it with *** Delete File, which asks for no lines")
	case f.Op == Delete:
		return res, nil
	case !doc.Lossless:
		res.Content = []byte(res.After)
		return res, nil
	}
	res.Content, err = doc.Encode(res.After)
	var char *textfile.CharError
	if errors.As(err, &char) {
		return res, invalid("the file is in %s, and %v", doc.Encoding, char).
			Try("use another character, or write the whole file with write_file and encoding utf-8")
	}
	if err != nil {
		return res, invalid("the lines to add cannot be written in %s: %v", doc.Encoding, err)
	}
	return res, nil
}

// A look is a way to compare lines, by its number: exact, or a step of [edit.Ladder]. The strictest is the first.
type look int

const (
	lookExact   look = iota
	lookEndings      // the first step
)

func (a *applier) looks() look { return lookEndings + look(len(a.ladder)) }

func (a *applier) step(l look) edit.Step { return a.ladder[l-lookEndings] }

// key returns the form of a line: those with equal keys are equal.
func (a *applier) key(l look, line string) string {
	if l == lookExact {
		return line
	}
	return a.step(l).Key(line)
}

func (a *applier) keys(l look, lines []Line) []string {
	keys := make([]string, len(lines))
	for i, line := range lines {
		if keys[i] = a.key(l, line.Text); l == lookExact && !line.NoEnd {
			keys[i] += "\n"
		}
	}
	return keys
}

func withoutEnding(line string) string {
	return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
}

// A view is a file in the form of one look.
type view struct {
	keys []string         // by line
	at   map[string][]int // lines by key, of the keys in the patch
}

// An applier finds where hunks belong and builds the new text.
type applier struct {
	file   File
	whole  string
	hidden scrub.Secrets
	masked string   // whole without its secrets, with the same lines
	lines  []string // of the old text, with their endings
	ladder []edit.Step
	views  []view // by look
	steps  int    // comparisons left
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
	look     look
	style    edit.Style
	lines    []Line
	literal  bool // its line endings come from the patch
}

// A replaced line is a removed line of a patch, and the line of the file that it matches.
type replaced struct{ old, have string }

func newApplier(content string, f File, hidden scrub.Secrets) *applier {
	lines := edit.SplitLines(content)
	a := &applier{
		file: f, whole: content, hidden: hidden, masked: content, lines: lines, taken: make([]bool, len(lines)),
		steps: maxSteps, ladder: edit.Ladder(),
	}
	a.views = make([]view, a.looks())
	if hidden.Any() {
		a.masked = hidden.Lines(0, len(content))
	}
	a.crlf = len(lines) > 0 && strings.Count(content, "\r\n") >= max(1, strings.Count(content, "\n"))
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			a.crlf = a.crlf && !strings.HasSuffix(l.Text, "\r")
		}
	}
	return a
}

// view returns the view of a look, made at its first use.
func (a *applier) view(l look) *view {
	v := &a.views[l]
	if v.at != nil {
		return v
	}
	v.at, v.keys = map[string][]int{}, a.lines
	if l != lookExact {
		v.keys = make([]string, len(a.lines))
		for i, line := range a.lines {
			v.keys[i] = a.key(l, line)
		}
	}
	for _, h := range a.file.Hunks {
		for _, anchor := range h.Anchors {
			v.at[a.key(l, anchor)] = nil
		}
		for _, key := range a.keys(l, h.Lines) {
			v.at[key] = nil
		}
	}
	for i, key := range v.keys {
		if at, ok := v.at[key]; ok {
			v.at[key] = append(at, i)
		}
	}
	return v
}

// fits reports whether the file has the keys at a line, and no hunk has any of these lines.
func (a *applier) fits(v *view, keys []string, line int) bool {
	if line < 0 || line+len(keys) > len(v.keys) {
		return false
	}
	for i, key := range keys {
		a.steps--
		if v.keys[line+i] != key || a.taken[line+i] {
			return false
		}
	}
	return true
}

// search returns at most most places of the keys at or after a line. It looks for the rarest key.
func (a *applier) search(v *view, keys []string, line, most int) (found []int) {
	rare := 0
	for i, key := range keys {
		if len(v.at[key]) < len(v.at[keys[rare]]) {
			rare = i
		}
	}
	at := v.at[keys[rare]]
	first, _ := slices.BinarySearch(at, line+rare)
	for _, p := range at[first:] {
		if a.fits(v, keys, p-rare) {
			found = append(found, p-rare)
		}
		if len(found) == most || a.steps <= 0 {
			break
		}
	}
	return found
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
	if p.look != lookExact {
		old, have := texts(without(p.lines, Added)), a.lines[p.start:p.start+p.n]
		p.style, _ = a.step(p.look).Style(old, have, texts(p.lines))
	}
	a.places = append(a.places, p)
	if a.ignores(p) {
		note = append(note, "matched "+a.step(p.look).String())
	}
	if len(note) > 0 {
		a.notes = append(a.notes, fmt.Sprintf("hunk %d: %s", number, strings.Join(note, "; ")))
	}
	return nil
}

func texts(lines []Line) []string {
	all := make([]string, len(lines))
	for i, l := range lines {
		all[i] = l.Text
	}
	return all
}

// ignores reports whether differences were ignored, except a missing newline at the end of the file.
func (a *applier) ignores(p place) bool {
	if p.look != lookEndings {
		return p.look != lookExact
	}
	for i, l := range without(p.lines, Added) {
		if strings.HasSuffix(l.Text, "\r") != strings.HasSuffix(a.lines[p.start+i], "\r\n") {
			return true
		}
	}
	return false
}

// place finds where h belongs, with the strictest look that finds only one place.
func (a *applier) place(number int, h Hunk) (place, []string, error) {
	variants := [][]Line{h.Lines}
	if h.loose > 0 && h.loose < len(h.Lines) {
		variants = append(variants, h.Lines[:len(h.Lines)-h.loose])
	}
	atEnd := slices.ContainsFunc(h.Lines, func(l Line) bool { return l.NoEnd })
	for _, lines := range variants {
		wanted := without(lines, Added)
		if len(wanted) == 0 {
			return a.insertion(number, h, lines)
		}
		p := place{n: len(wanted), number: number, lines: lines}
		for p.look = 0; p.look < a.looks() && (atEnd || h.AtEnd); p.look++ {
			p.start, p.literal = len(a.lines)-len(wanted), p.look == lookExact
			if a.fits(a.view(p.look), a.keys(p.look, wanted), p.start) {
				return p, nil, nil
			}
		}
		for p.look = 0; p.look < a.looks() && !atEnd; p.look++ {
			start, note, err := a.locate(number, h, wanted, p.look)
			if p.start, p.literal = start, p.look == lookExact; err != nil || start >= 0 {
				return p, note, err
			}
		}
	}
	return place{}, nil, a.mismatch(number, h)
}

// locate returns where the file has the wanted lines with one look, -1 for nowhere, and an error if it is ambiguous.
func (a *applier) locate(number int, h Hunk, wanted []Line, l look) (start int, note []string, err error) {
	v, keys := a.view(l), a.keys(l, wanted)
	if slices.ContainsFunc(keys, func(key string) bool { return len(v.at[key]) == 0 }) {
		return -1, nil, nil
	}
	if start := h.Start - 1 + a.shift; h.Numbered && a.fits(v, keys, start) {
		return start, nil, nil
	}
	var found []int
	if len(h.Anchors) > 0 {
		below := a.anchored(h.Anchors)
		if len(below) == 0 {
			note = []string{fmt.Sprintf("the line %.80q of its @@ was not found", h.Anchors[len(h.Anchors)-1])}
		}
		for _, line := range below {
			if a.steps -= len(found) + 1; a.steps <= 0 {
				break
			}
			next := a.search(v, keys, max(line, a.cursor), 1)
			if len(next) == 0 {
				next = a.search(v, keys, line, 1)
			}
			if len(next) > 0 && !slices.Contains(found, next[0]) {
				found = append(found, next[0])
			}
		}
	}
	for _, line := range []int{a.cursor, 0} {
		if len(found) == 0 {
			found = a.search(v, keys, line, maxPlaces)
		}
	}
	switch {
	case a.steps <= 0:
		return -1, nil, invalid("finding where hunk %d belongs takes too long", number).
			Try("give its line number, as in @@ -12,3 +12,4 @@")
	case len(found) > 1:
		return -1, nil, a.ambiguous(number, h, found)
	case len(found) == 0:
		return -1, nil, nil
	}
	return found[0], note, nil
}

// anchored follows anchors, each after the one before, from every line that matches the first. It returns the lines
// that it reaches.
func (a *applier) anchored(anchors []string) (below []int) {
	first := a.like(anchors[0])
	for _, line := range first[:min(len(first), 1000)] {
		if a.steps -= len(below) + len(anchors); a.steps <= 0 {
			break
		}
		for _, anchor := range anchors[1:] {
			next := a.like(anchor)
			i, _ := slices.BinarySearch(next, line+1)
			if i == len(next) {
				line = -1
				break
			}
			line = next[i]
		}
		if line >= 0 && !slices.Contains(below, line) {
			below = append(below, line)
		}
	}
	return below
}

// like returns the lines that match an anchor with the strictest look that finds any, or else the lines that contain
// the anchor.
func (a *applier) like(anchor string) (lines []int) {
	for l := lookEndings; l < a.looks(); l++ {
		if lines := a.view(l).at[a.key(l, anchor)]; len(lines) > 0 {
			return lines
		}
	}
	part := strings.TrimSpace(anchor)
	i := -1
	for line := range strings.Lines(a.masked) {
		i++
		if a.steps -= 1 + len(line)/64; a.steps <= 0 {
			break
		}
		if len(part) >= 3 && strings.Contains(line, part) {
			lines = append(lines, i)
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
			return p, nil, conflict("hunk %d adds lines after line %d, and the file has %d", number, h.Start,
				len(a.lines)).
				Try("read the file and send the patch for it as it is")
		}
	case len(h.Anchors) > 0 && !h.AtEnd:
		below := a.anchored(h.Anchors)
		switch len(below) {
		case 0:
			err := conflict("hunk %d: the line %.200q of its @@ is not in the file", number, h.Anchors[0])
			if scrub.HasMask(h.Anchors[0]) {
				return p, nil, err.Try("%s", adviceForMasks())
			}
			return p, nil, err.Try("read the file and send a line as it is there")
		case 1:
			p.start = below[0] + 1
		default:
			return p, nil, a.ambiguous(number, h, below)
		}
	case len(a.lines) > 0 && !h.AtEnd:
		return p, []string{"added at the end of the file"}, nil
	}
	return p, nil, nil
}

// ambiguous returns the error that a hunk fits at several places.
func (a *applier) ambiguous(number int, h Hunk, found []int) error {
	lines := make([]string, min(len(found), maxPlaces))
	for i := range lines {
		lines[i] = fmt.Sprint(found[i] + 1)
	}
	more := ""
	if len(found) >= maxPlaces {
		more = " and more"
	}
	err := conflict("hunk %d fits at lines %s%s", number, strings.Join(lines, ", "), more)
	if h.Numbered {
		return err.Try("correct its line number, or add lines around it")
	}
	return err.Try("add lines around it, or write a line above it after @@")
}

func adviceForMasks() string {
	return "text behind a mask such as " + scrub.Mask + " cannot be matched: choose lines around it"
}

// mismatch returns the error that a hunk fits nowhere, with the most similar lines. Lines of files come last, since a
// sentence after them would look like a part of them.
func (a *applier) mismatch(number int, h Hunk) error {
	var b strings.Builder
	for _, l := range without(h.Lines, Added) {
		b.WriteString(withoutEnding(l.Text) + "\n")
	}
	wanted := b.String()
	err := conflict("hunk %d does not match", number)
	if scrub.HasMask(wanted) {
		return err.Try("%s", adviceForMasks())
	}
	if now := without(h.Lines, Removed); len(without(h.Lines, Added)) < len(h.Lines) {
		if found := a.search(a.view(lookEndings), a.keys(lookEndings, now), 0, 1); len(found) > 0 {
			err.What += fmt.Sprintf(": its old lines are not in the file, but its new lines are already at line %d",
				found[0]+1)
			return err.Try("leave this hunk out")
		}
	}
	wanted = a.hidden.Hide(wanted)
	near := edit.Candidates(a.masked, wanted, 2)
	if len(near) == 0 {
		return err.Try("read the file and send the patch for it as it is. Not in the file:\n%s", excerptOfPatch(wanted))
	}
	shown := ""
	for _, c := range near {
		shown += "\nnearest: " + c.String()
	}
	return err.Try("send the patch for the lines as they are. Not in the file:\n%s%s", excerptOfPatch(wanted), shown)
}

// excerptOfPatch shortens a part of a patch for an error.
func excerptOfPatch(wanted string) string {
	const mostLines, widest = 8, 160
	lines := strings.Split(strings.TrimSuffix(wanted, "\n"), "\n")
	more := len(lines) - mostLines
	lines = lines[:min(len(lines), mostLines)]
	for i, line := range lines {
		if len(line) > widest {
			lines[i] = strings.ToValidUTF8(line[:widest], "") + "…"
		}
	}
	shown := strings.Join(lines, "\n")
	if more > 0 {
		shown += fmt.Sprintf("\n(and %d more)", more)
	}
	return shown
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
			return "", invalid("hunk %d overlaps another", p.number).Try("join the two hunks")
		}
		w.keep(p.start)
		w.hunk(p)
	}
	w.keep(len(a.lines))
	return w.b.String(), nil
}

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
			return w.lines[i][len(withoutEnding(w.lines[i])):]
		}
	}
	return "\n"
}

// hunk writes the lines of a hunk in place of old ones. Context lines keep the bytes of the file; added lines get the
// indentation and the line endings of the file, unless the hunk is literal.
func (w *writer) hunk(p place) {
	marked := slices.ContainsFunc(p.lines, func(l Line) bool { return l.NoEnd })
	// The last line of the file gets no ending if it had none.
	last, end := -1, len(w.lines)
	if !p.literal && !marked && p.start+p.n == end && end > 0 && !strings.HasSuffix(w.lines[end-1], "\n") {
		last = len(p.lines) - 1
		for last >= 0 && p.lines[last].Kind == Removed {
			last--
		}
	}
	var removed []replaced // that no line has replaced yet
	for i, l := range p.lines {
		switch l.Kind {
		case Removed:
			removed = append(removed, replaced{l.Text, w.lines[w.next]})
			w.next++
		case Context:
			removed = nil
			w.keep(w.next + 1)
		case Added:
			text, ending := l.Text, w.ending(w.next-1)
			var by replaced
			if len(removed) > 0 {
				by, removed = removed[0], removed[1:]
			}
			if !p.literal {
				text = p.style.Line(by.old, by.have, withoutEnding(text))
			}
			switch {
			case l.NoEnd || i == last && text != "": // an empty line is only its ending
			case p.literal:
				text += "\n"
			default:
				text += ending
			}
			w.line(text, ending)
		}
	}
}

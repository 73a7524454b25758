package edit

import "strings"

// A Rung is the way in which a text was found: exactly, or ignoring a known kind of difference.
type Rung uint8

// The rungs, in the order in which they are tried. Each ignores what the one before ignores, except Punctuation.
const (
	Exact          Rung = iota
	LineEndings         // \n instead of \r\n, or the other way round
	TrailingBlanks      // and blanks at the ends of lines
	Indentation         // and more or less indentation of all lines, or tabs instead of spaces
	Punctuation         // the style of quotes, dashes or spaces
)

// String returns the rung as it follows the word "matched".
func (r Rung) String() string {
	switch r {
	case LineEndings:
		return "ignoring line endings"
	case TrailingBlanks:
		return "ignoring blanks at line ends"
	case Indentation:
		return "ignoring indentation"
	case Punctuation:
		return "ignoring the style of quotes, dashes and spaces"
	}
	return "exactly"
}

// A match is where a text was found.
type match struct {
	start, end int
	rungs      []Rung
	shift      shift
}

// A step tries one rung, or two together.
type step struct {
	form  form
	rungs []Rung
}

func steps() []step {
	return []step{
		{form{}, []Rung{LineEndings}},
		{form{right: true}, []Rung{TrailingBlanks}},
		{form{left: true, right: true}, []Rung{Indentation}},
		{form{right: true, fold: true}, []Rung{Punctuation}},
		{form{left: true, right: true, fold: true}, []Rung{Indentation, Punctuation}},
	}
}

// maxPlaces is the maximum number of matches. To replace more use a program.
const maxPlaces = 200_000

// find looks for old in text, and stops at the first rung that finds it. Matches do not overlap, unless there are only
// two: then the old text is ambiguous.
func find(text, old, new string) []match {
	if places := occurrences(text, old); len(places) > 0 {
		found := make([]match, len(places))
		for i, at := range places {
			found[i] = match{start: at, end: at + len(old)}
		}
		return found
	}
	core := longestCore(old)
	if core == "" {
		return nil // only blanks and line endings
	}
	literal := strings.Contains(text, core)
	folds := mayFold(text)
	for _, s := range steps() {
		switch {
		case !s.form.fold && !literal,
			s.form.fold && !folds && !strings.Contains(text, form{fold: true}.of(core)),
			s.form.fold && !folds && !mayFold(old),
			s.form == (form{}) && !strings.Contains(text, "\r\n") && !strings.Contains(old, "\r\n"):
			continue
		}
		if found := s.find(text, old, new); len(found) > 0 {
			return found
		}
	}
	return nil
}

// occurrences returns the positions of old in text.
func occurrences(text, old string) []int {
	var all []int
	for i := 0; len(all) < maxPlaces; {
		n := strings.Index(text[i:], old)
		if n < 0 {
			break
		}
		all = append(all, i+n)
		i += n + len(old)
	}
	if len(all) == 1 { // an overlapping one begins within twice its length
		from := all[0] + 1
		if n := strings.Index(text[from:min(len(text), from+2*len(old))], old); n >= 0 {
			all = append(all, from+n)
		}
	}
	return all
}

// longestCore returns the longest line of text, without surrounding blanks.
func longestCore(text string) string {
	core := ""
	for line := range strings.Lines(text) {
		if line = strings.Trim(line, " \t\r\n"); len(line) > len(core) {
			core = line
		}
	}
	return core
}

// find looks for old in the form of the step.
func (s step) find(text, old, new string) []match {
	if s.form.left {
		return s.indented(text, old, new)
	}
	needle, hay := s.form.of(old), s.form.of(text)
	wide := s.form.right && cutShort(s.form, old) // the ignored blanks are at the end of a line
	if wide {
		needle, hay = needle+"\n", hay+"\n"
	}
	var positions []int
	for _, at := range occurrences(hay, needle) {
		end := at + len(needle)
		if wide {
			end--
		}
		positions = append(positions, at, end)
	}
	if len(positions) == 4 && positions[2] < positions[1] { // the two overlap
		first, second := s.form.back(text, positions[:2], wide), s.form.back(text, positions[2:], wide)
		return s.matches(append(first, second...))
	}
	return s.matches(s.form.back(text, positions, wide))
}

// cutShort reports whether old ends within a line, in blanks that the form ignores.
func cutShort(f form, old string) bool {
	last := old[startOfLine(old, len(old)):]
	_, to := f.core(last)
	return to < len(last)
}

func (s step) matches(places []int) []match {
	var found []match
	for i := 0; i+1 < len(places); i += 2 {
		found = append(found, match{start: places[i], end: places[i+1], rungs: s.rungs})
	}
	return found
}

// indented finds old as whole lines that are all indented differently by the same amount.
func (s step) indented(text, old, new string) []match {
	needle, hay := "\n"+s.form.of(old), "\n"+s.form.of(text)
	if !strings.HasSuffix(needle, "\n") {
		needle, hay = needle+"\n", hay+"\n"
	}
	given, wanted := SplitLines(old), SplitLines(new)
	var found, second []match
	from, start := 0, 0 // a position in hay, and the beginning of its line in text
	next := 0
	for work := 16 << 20; len(found) < maxPlaces; work -= len(needle) + 64 {
		n := strings.Index(hay[next:], needle)
		if n < 0 {
			break
		}
		if work < 0 {
			return nil // there may be another
		}
		start = linesAfter(text, start, countLines(hay[from:next+n]))
		from = next + n
		next = from + 1
		m := match{start: start, end: s.end(text, start, old, len(given)), rungs: s.rungs}
		shift, ok := solve(given, SplitLines(text[m.start:m.end]), wanted)
		m.shift = shift
		switch last := len(found) - 1; {
		case !ok:
		case last >= 0 && m.start < found[last].end:
			second = []match{m}
		default:
			found = append(found, m)
		}
	}
	if len(found) == 1 {
		found = append(found, second...)
	}
	return found
}

// end returns the end of the n lines of text from start, without the last line ending if old has none.
func (s step) end(text string, start int, old string, n int) int {
	last := linesAfter(text, start, n-1)
	end := linesAfter(text, last, 1)
	if ending(old) != "" {
		return end
	}
	content := body(text[last:end])
	if cutShort(s.form, old) {
		return last + len(content)
	}
	_, to := s.form.core(content)
	return last + to
}

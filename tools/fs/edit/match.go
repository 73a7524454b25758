package edit

import (
	"strings"
	"unicode/utf8"
)

// A Rung is a way of finding a text: exactly, or ignoring a known kind of difference.
type Rung uint8

// The rungs, in the order of trying. Each also ignores all differences that the rung before it ignores, except
// Punctuation.
const (
	Exact          Rung = iota
	LineEndings         // \n instead of \r\n, or the other way round
	TrailingBlanks      // and blanks at the ends of lines
	Indentation         // and the indentation of lines, if one rule leads from one to the other
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
	Style
}

// A Step tries one rung, or two together: it ignores some differences between texts. In every form a line ends in \n.
type Step struct {
	left, right bool // ignore blanks at the beginning and at the end of lines
	fold        bool // ignore the style of quotes, dashes and spaces
	rungs       []Rung
}

// Ladder returns the steps after the exact comparison, the strictest first.
func Ladder() []Step {
	return []Step{
		{rungs: []Rung{LineEndings}},
		{right: true, rungs: []Rung{TrailingBlanks}},
		{left: true, right: true, rungs: []Rung{Indentation}},
		{right: true, fold: true, rungs: []Rung{Punctuation}},
		{left: true, right: true, fold: true, rungs: []Rung{Indentation, Punctuation}},
	}
}

// Key returns the form of one line, whatever its ending. Lines with equal keys are equal to the step.
func (s Step) Key(line string) string { return s.form(strings.TrimSuffix(body(line), "\r")) }

// Style returns the style in which the file has the given lines of an edit. ok is false if the step ignores
// indentation and no rule that covers the wanted lines converts given to have.
func (s Step) Style(given, have, wanted []string) (style Style, ok bool) {
	style.rungs, ok = s.rungs, true
	if s.left {
		style.indents, ok = NewIndents(given, have, wanted)
	}
	return style, ok
}

// String names the rungs of the step.
func (s Step) String() string {
	names := make([]string, len(s.rungs))
	for i, r := range s.rungs {
		names[i] = r.String()
	}
	return strings.Join(names, " and ")
}

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
	for _, s := range Ladder() {
		switch {
		case !s.fold && !literal, s.fold && !folds && !mayFold(old),
			!s.right && !strings.Contains(text, "\r\n") && !strings.Contains(old, "\r\n"):
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
func (s Step) find(text, old, new string) []match {
	needle, hay := s.form(old), s.form(text)
	// Blanks at the end of old that are ignored are those at the end of a line.
	wide := s.right && s.cutsEnd(old)
	switch {
	case s.left: // whole lines
		if !strings.HasSuffix(needle, "\n") {
			hay += "\n"
			needle += "\n"
		}
		needle, hay = "\n"+needle, "\n"+hay
	case wide:
		needle, hay = needle+"\n", hay+"\n"
	}
	given, wanted := SplitLines(old), SplitLines(new)
	var found, second []match
	line, start, counted := 0, 0, 0 // the line of the search, its position in text, and in hay
	work := 64 << 20
	for next := 0; len(found) < maxPlaces; work -= len(needle) + 64 {
		n := strings.Index(hay[next:], needle)
		if n < 0 {
			break
		}
		if work < 0 {
			return nil // there may be another
		}
		at := next + n
		passed := countLines(hay[counted:at])
		line, start, counted = line+passed, linesAfter(text, start, passed), at
		next = at + 1
		m := match{Style: Style{rungs: s.rungs}}
		if s.left {
			m.start = start
			m.end = s.endOfLines(text, start, old, len(given))
			var ok bool
			if m.Style, ok = s.Style(given, SplitLines(text[m.start:m.end]), wanted); !ok {
				continue
			}
		} else {
			column := at - (strings.LastIndexByte(hay[:at], '\n') + 1)
			m.start, m.end = s.within(text, start, column, column+len(needle), wide)
		}
		if last := len(found) - 1; last >= 0 && m.start < found[last].end {
			second = append(second[:0], m)
			continue
		}
		found = append(found, m)
	}
	if len(found) == 1 {
		found = append(found, second...)
	}
	return found
}

// cutsEnd reports whether old ends within a line, in blanks that the step ignores.
func (s Step) cutsEnd(old string) bool {
	last := old[startOfLine(old, len(old)):]
	_, to := s.core(last)
	return to < len(last)
}

// endOfLines returns the end of the n lines of text from start, without the last line ending if old has none.
func (s Step) endOfLines(text string, start int, old string, n int) int {
	last := linesAfter(text, start, n-1)
	end := linesAfter(text, last, 1)
	if ending(old) != "" {
		return end
	}
	content := body(text[last:end])
	if s.cutsEnd(old) {
		return last + len(content)
	}
	_, to := s.core(content)
	return last + to
}

// within returns the positions in text of a part of its form. from and to count from the beginning of the line that
// begins at start. If wide is set, the part includes a final line ending that the match leaves out.
func (s Step) within(text string, start, from, to int, wide bool) (int, int) {
	begin, end := -1, -1
	at := 0 // position in the form
	for line := start; ; {
		next := endOfLine(text, line)
		content := body(text[line:next])
		_, kept := s.core(content)
		for i := 0; i <= kept; {
			if at == from && begin < 0 {
				begin = line + i
				if i == kept && kept < len(content) {
					begin = line + len(content) // behind the blanks
				}
			}
			if at == to {
				return begin, line + i
			}
			if i == kept {
				break
			}
			n, size := s.char(content[i:])
			i, at = i+n, at+size
		}
		if wide && at+1 == to {
			return begin, line + len(content)
		}
		if at++; next == len(text) {
			break
		}
		line = next
		if at == from && begin < 0 {
			begin = line
		}
		end = line
	}
	return max(begin, 0), max(end, len(text))
}

// form returns a text in the form of the step.
func (s Step) form(text string) string {
	if !s.right {
		return strings.ReplaceAll(text, "\r\n", "\n")
	}
	var b strings.Builder
	b.Grow(len(text))
	for text != "" {
		end := endOfLine(text, 0)
		line := text[:end]
		from, to := s.core(body(line))
		if s.fold {
			for rest := line[from:to]; rest != ""; {
				n, size := s.char(rest)
				if size < n {
					r, _ := utf8.DecodeRuneInString(rest)
					b.WriteByte(byte(plain(r)))
				} else {
					b.WriteString(rest[:n])
				}
				rest = rest[n:]
			}
		} else {
			b.WriteString(line[from:to])
		}
		if ending(line) != "" {
			b.WriteByte('\n')
		}
		text = text[end:]
	}
	return b.String()
}

// char returns the length of the first character of text, and its length in the form.
func (s Step) char(text string) (n, size int) {
	if !s.fold || text[0] < utf8.RuneSelf {
		return 1, 1
	}
	r, n := utf8.DecodeRuneInString(text)
	if plain(r) != r {
		return n, 1
	}
	return n, n
}

// core returns the part of a line's body that the form keeps.
func (s Step) core(body string) (from, to int) {
	to = len(body)
	if s.right {
		to = len(strings.TrimRightFunc(body, s.blank))
	}
	if s.left {
		from = to - len(strings.TrimLeftFunc(body[:to], s.blank))
	}
	return from, to
}

func (s Step) blank(r rune) bool {
	return r == ' ' || r == '\t' || s.fold && r >= utf8.RuneSelf && plain(r) == ' '
}

// plain returns the ASCII character for a typographic quote, dash or space, or r itself.
func plain(r rune) rune {
	switch r {
	case '‘', '’', '‚', '‛', '′', 'ʼ':
		return '\''
	case '“', '”', '„', '‟', '″':
		return '"'
	case '‐', '‑', '‒', '–', '—', '―', '−', '－':
		return '-'
	case '\u00A0', '\u202F', '\u205F', '\u3000':
		return ' '
	}
	if r >= '\u2000' && r <= '\u200A' {
		return ' '
	}
	return r
}

// mayFold reports whether text may contain a character that plain changes, by the first bytes of these.
func mayFold(text string) bool {
	for _, first := range []byte("\xC2\xCA\xE2\xE3\xEF") {
		if strings.IndexByte(text, first) >= 0 {
			return true
		}
	}
	return false
}

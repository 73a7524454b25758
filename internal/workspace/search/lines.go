package search

import (
	"bytes"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// A scanner finds the matching lines of one text after another. It is for one
// goroutine.
type scanner struct {
	m      *Matcher
	dfa    *dfa // built when first needed
	finder *finder
	buf    []byte
	veil   veil // of buf

	// Bytes of lines scanned, and of lines with a needle but no match. If the latter
	// are many, the DFA alone is faster.
	passed, wasted int
	dense          bool
	spans          multilineState
}

func newScanner(m *Matcher) *scanner {
	s := &scanner{m: m}
	if len(m.prefilter.needles) > 0 {
		s.finder = newFinder(m.prefilter.needles)
	}
	return s
}

// reset sets the text to search. It begins and ends at line boundaries.
func (s *scanner) reset(buf []byte) {
	s.buf, s.passed, s.wasted, s.dense = buf, 0, 0, false
	if s.finder != nil {
		s.finder.reset(buf)
	}
	if s.m.q.Multiline {
		s.spans = multilineState{done: !s.mayMatch(), text: buf, by: &s.m.exact}
		if s.spans.done {
			return
		}
		if secrets, at := s.veil.at(buf, 0, len(buf)); secrets.Any() {
			s.spans.text, s.spans.by = secrets.Blank(at, at+len(buf)), s.m.blanked()
		}
	}
}

// visible reports whether a matching line also matches without its secrets.
func (s *scanner) visible(start, end int) bool {
	if s.m.q.Multiline {
		return true // the whole text is matched without its secrets
	}
	secrets, at := s.veil.at(s.buf, start, end)
	return !secrets.Touch(at+start, at+end) ||
		s.m.blanked().matchesLine(s.m.trimCR(secrets.Blank(at+start, at+end)))
}

// next returns the first matching line at or after from, the start of a line. end is
// the offset of the line end, or of the end of the text.
func (s *scanner) next(from int) (start, end int, ok bool) {
	switch {
	case from >= len(s.buf):
		return 0, 0, false
	case s.m.q.Multiline:
		return s.nextMultiline(from)
	case s.m.prefilter.certain:
		return s.nextCertain(from)
	case s.finder != nil && !s.dense:
		return s.nextPrefiltered(from)
	}
	return s.nextByDFA(from)
}

// nextCertain is next if every needle is a match.
func (s *scanner) nextCertain(from int) (start, end int, ok bool) {
	at := from
	for {
		hit, hitEnd, ok := s.finder.next(at)
		if !ok {
			return 0, 0, false
		}
		if s.m.q.Word && !isWhole(s.buf, hit, hitEnd) {
			at = hit + 1
			continue
		}
		start, end = s.lineAt(from, hit)
		return start, end, true
	}
}

// nextPrefiltered is next if needles select the lines to match.
func (s *scanner) nextPrefiltered(from int) (start, end int, ok bool) {
	for from < len(s.buf) {
		hit, _, ok := s.finder.next(from)
		if !ok {
			return 0, 0, false
		}
		start, end = s.lineAt(from, hit)
		s.passed += end - from
		if s.lineMatches(s.buf[start:end]) {
			return start, end, true
		}
		from = end + 1
		s.wasted += end - start
		if s.wasted > 4<<10 && s.wasted > s.passed/3 {
			s.dense = true
			return s.nextByDFA(from)
		}
	}
	return 0, 0, false
}

// nextByDFA is next by running the DFA over all bytes.
func (s *scanner) nextByDFA(from int) (start, end int, ok bool) {
	d := s.automaton()
	for from < len(s.buf) && !d.failed {
		hit := d.find(s.buf, from)
		if d.failed {
			break
		}
		if hit < 0 {
			return 0, 0, false
		}
		start, end = s.lineAt(from, hit)
		if s.confirm(s.buf[start:end]) {
			return start, end, true
		}
		from = end + 1
	}
	for from < len(s.buf) {
		start, end = s.lineAt(from, from)
		if s.m.exact.matchesLine(s.m.trimCR(s.buf[start:end])) {
			return start, end, true
		}
		from = end + 1
	}
	return 0, 0, false
}

// lineMatches reports whether a line matches.
func (s *scanner) lineMatches(line []byte) bool {
	d := s.automaton()
	if !d.failed {
		if found := d.matchesLine(line); !d.failed {
			return found && s.confirm(line)
		}
	}
	return s.m.exact.matchesLine(s.m.trimCR(line))
}

// confirm reports whether a line that the DFA accepts really matches.
func (s *scanner) confirm(line []byte) bool {
	return !s.m.prog.approximate || isASCII(line) || s.m.exact.matchesLine(s.m.trimCR(line))
}

// mayMatch reports whether the text may have a match.
func (s *scanner) mayMatch() bool {
	if s.finder != nil {
		if _, _, ok := s.finder.next(0); !ok {
			return false
		}
	}
	d := s.automaton()
	return d.failed || d.find(s.buf, 0) >= 0 || d.failed
}

func (s *scanner) automaton() *dfa {
	if s.dfa == nil {
		s.dfa = newDFA(s.m.prog)
	}
	return s.dfa
}

// lineAt returns the line that contains a position. from is the start of that line or
// of an earlier one.
func (s *scanner) lineAt(from, place int) (start, end int) {
	start = from + bytes.LastIndexByte(s.buf[from:place], '\n') + 1
	if n := bytes.IndexByte(s.buf[place:], '\n'); n >= 0 {
		return start, place + n
	}
	return start, len(s.buf)
}

// trimCR removes the "\r" of a line end.
func (m *Matcher) trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' && !m.keepCR {
		return line[:n-1]
	}
	return line
}

func isASCII(text []byte) bool {
	for len(text) >= 8 {
		if (text[0]|text[1]|text[2]|text[3]|text[4]|text[5]|text[6]|text[7])&0x80 != 0 {
			return false
		}
		text = text[8:]
	}
	for _, b := range text {
		if b >= 0x80 {
			return false
		}
	}
	return true
}

// multilineState iterates over matches that may span lines.
type multilineState struct {
	at         int // where the next match may begin
	start, end int // the last match
	found      bool
	done       bool   // the last match was found
	text       []byte // the text to match, and its matcher
	by         *exact
}

// nextMultiline is next if matches may span lines. It returns the first line at or
// after from that contains a part of a match.
func (s *scanner) nextMultiline(from int) (start, end int, ok bool) {
	p := &s.spans
	for {
		if p.found && p.end > from {
			start, end = s.lineAt(from, max(from, p.start))
			return start, end, true
		}
		if p.done {
			return 0, 0, false
		}
		p.start, p.end, p.found = p.by.findAfter(p.text, p.at)
		if !p.found {
			p.done = true
			continue
		}
		p.at = p.end
		if p.start == p.end { // an empty match counts for its line
			_, size := utf8.DecodeRune(p.text[p.start:])
			p.at, p.end = p.start+max(size, 1), p.start+1
		}
		p.done = p.at >= len(s.buf)
		if p.start == len(s.buf) && s.buf[p.start-1] == '\n' {
			p.found = false // no line begins at the end of the text
		}
	}
}

// exact is the pattern compiled by package regexp: slow but precise.
type exact struct {
	first    *regexp.Regexp
	next     *regexp.Regexp // any one rune, then the pattern; for matches that may span lines
	group    int            // the group of the match itself
	maxBytes int            // bytes of a line to search, to bound the time
}

const noWordRune = `[^\pL\pM\pN\p{Pc}]`

func newExact(pattern string, q Query, insts int) (e exact, err error) {
	e.maxBytes = maxSteps / insts
	first, rest := pattern, `(?s:.)(`+pattern+`)`
	if q.Word {
		rest = noWordRune + `(` + pattern + `)(?:` + noWordRune + `|\z)`
		first = `(?:\A|` + noWordRune + `)(` + pattern + `)(?:` + noWordRune + `|\z)`
		e.group = 1
	}
	if e.first, err = regexp.Compile(first); err != nil || !q.Multiline {
		return e, err
	}
	e.next, err = regexp.Compile(rest)
	return e, err
}

// matchesLine reports whether a line has a match.
func (e *exact) matchesLine(line []byte) bool {
	return e.first.Match(line[:min(len(line), e.maxBytes)])
}

// locate returns the first match in a line or a whole text.
func (e *exact) locate(text []byte) (start, end int, ok bool) {
	text = text[:min(len(text), e.maxBytes)]
	if e.group == 0 {
		loc := e.first.FindIndex(text)
		if loc == nil {
			return 0, 0, false
		}
		return loc[0], loc[1], true
	}
	loc := e.first.FindSubmatchIndex(text)
	if loc == nil {
		return 0, 0, false
	}
	return loc[2], loc[3], true
}

// findAfter returns the first match in a text that begins at or after from.
func (e *exact) findAfter(text []byte, from int) (start, end int, ok bool) {
	if from == 0 {
		return e.locate(text)
	}
	_, size := utf8.DecodeLastRune(text[:from])
	loc := e.next.FindSubmatchIndex(text[from-size:])
	if loc == nil {
		return 0, 0, false
	}
	return from - size + loc[2], from - size + loc[3], true
}

// isWhole reports whether a match is not preceded or followed by a word character.
func isWhole(text []byte, start, end int) bool {
	before, _ := utf8.DecodeLastRune(text[:start])
	after, _ := utf8.DecodeRune(text[end:])
	return !wordRune(before) && !wordRune(after)
}

// wordRune reports whether r is part of a word; noWordRune is the opposite.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return isWord(byte(r))
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.Pc)
}

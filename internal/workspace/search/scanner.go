package search

import "bytes"

// A scanner finds the lines of one text after the other that match. It is for
// one goroutine.
type scanner struct {
	m      *Matcher
	dfa    *dfa // made when it is needed
	finder *finder
	buf    []byte

	// In buf: bytes of lines, and of those that needles led to in vain. When
	// these are many, it is better without needles.
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

// reset makes the scanner look at buf, which begins and ends where a line does.
func (s *scanner) reset(buf []byte) {
	s.buf, s.passed, s.wasted, s.dense = buf, 0, 0, false
	if s.finder != nil {
		s.finder.reset(buf)
	}
	if s.m.q.Multiline {
		s.spans = multilineState{done: !s.mayMatch()}
	}
}

// nextByte returns the first line that matches at or after from, the start of a
// line; end is where its line end is, or the end of the text.
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

// nextCertain is next when every needle is a match.
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

// nextPrefiltered is next when needles say which lines may match.
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

// nextByDFA is next by running over everything.
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

// lineMatches reports whether a line does.
func (s *scanner) lineMatches(line []byte) bool {
	d := s.automaton()
	if !d.failed {
		if found := d.matchesLine(line); !d.failed {
			return found && s.confirm(line)
		}
	}
	return s.m.exact.matchesLine(s.m.trimCR(line))
}

// confirm reports whether a line matches that the automaton takes.
func (s *scanner) confirm(line []byte) bool {
	return !s.m.prog.approximate || isASCII(line) || s.m.exact.matchesLine(s.m.trimCR(line))
}

// mayMatch reports whether the whole text may hold a match.
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

// showLine returns the line that holds a place; from is the start of that line
// or of one before it.
func (s *scanner) lineAt(from, place int) (start, end int) {
	start = from + bytes.LastIndexByte(s.buf[from:place], '\n') + 1
	if n := bytes.IndexByte(s.buf[place:], '\n'); n >= 0 {
		return start, place + n
	}
	return start, len(s.buf)
}

// trimCR is a line without the "\r" of its end.
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

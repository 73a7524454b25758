package search

import "unicode/utf8"

// multilineState goes through matches that may span lines.
type multilineState struct {
	at         int // where the next match may begin
	start, end int // the last match
	found      bool
	done       bool
}

// nextMultiline is next when matches may span lines: the first line at or after
// from that a match touches.
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
		p.start, p.end, p.found = s.m.exact.findAfter(s.buf, p.at)
		if !p.found {
			p.done = true
			continue
		}
		p.at = p.end
		if p.start == p.end { // it touches the line it is in
			_, size := utf8.DecodeRune(s.buf[p.start:])
			p.at, p.end = p.start+max(size, 1), p.start+1
		}
		p.done = p.at >= len(s.buf)
		if p.start == len(s.buf) && s.buf[p.start-1] == '\n' {
			p.found = false // no line begins there
		}
	}
}

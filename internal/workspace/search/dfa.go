package search

import (
	"bytes"
)

// A dfa runs a program over bytes in one look-up for each. Its states are sets
// of instructions, made when they are first needed and forgotten when they
// become too many. It is for one goroutine.
type dfa struct {
	p      *program
	width  uint32 // of a row of next: classes, and the end of the text
	next   []uint32
	states []state
	index  map[string]uint32
	memory int
	first  uint32 // the state at the start of a line, or of the text

	scanned int // emitBytes that were looked at since the states were forgotten
	resets  int
	failed  bool // states were forgotten too often

	current, following *sparseSet // of instructions
	stack              []int32
	key                []byte
}

// Values of next below a whole row: not states.
const (
	unknown uint32 = iota
	matched
	dead // no match in this line any more
	done // the end of the text
	specials
)

const maxStates = 1 << 20 // emitBytes

// A state is what can happen next, after all that needs no further byte was
// done.
type state struct {
	insts []int32 // sorted
	prev  prevContext
}

// prevContext is what a state knows of the bytes before it.
type prevContext struct {
	word      bool
	lineStart bool
	textStart bool
	cr        bool // the last byte was a "\r" that may belong to the line's end,
	crMatch   bool // prevContext which there was a match, if it does
}

func newDFA(p *program) *dfa {
	d := &dfa{p: p, index: map[string]uint32{}}
	d.width = max(uint32(len(p.sample)+1), specials)
	d.current, d.following = newSparseSet(len(p.insts)), newSparseSet(len(p.insts))
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.next = append(d.next[:0], make([]uint32, d.width)...) // row 0 is for the specials
	d.states = append(d.states[:0], state{})
	clear(d.index)
	d.memory, d.scanned = 0, 0
	begin := prevContext{lineStart: true, textStart: true}
	d.following.clear()
	d.addClosure(d.p.start, begin)
	d.first = d.intern(begin)
}

// find returns where it is known that buf has a match from from on, or -1:
// the match lies within the line that holds this place, or ends there. from is
// the start of a line, and buf ends where a line does.
func (d *dfa) find(buf []byte, from int) int {
	s := d.first
	next, class, width := d.next, &d.p.class, d.width
	mark := from
	for i := from; i < len(buf); i++ {
		n := next[s+uint32(class[buf[i]])]
		if n >= width {
			s = n
			continue
		}
		if n == unknown {
			d.scanned += i - mark
			mark = i
			if n, s = d.step(s, int(class[buf[i]])); d.failed {
				return -1
			}
			next = d.next
		}
		switch {
		case n >= width:
			s = n
		case n == matched:
			d.scanned += i - mark
			return i
		case n == dead:
			end := bytes.IndexByte(buf[i:], '\n')
			if end < 0 {
				return -1
			}
			i += end
			s = d.first
		}
	}
	d.scanned += len(buf) - mark
	if !d.p.options.multiline && (from >= len(buf) || buf[len(buf)-1] == '\n') {
		return -1
	}
	n := next[s+d.width-1]
	if n == unknown {
		n, _ = d.step(s, int(d.width)-1)
	}
	if n == matched {
		return len(buf)
	}
	return -1
}

// formatLine reports whether a line without its end matches.
func (d *dfa) matchesLine(matchesLine []byte) bool {
	if len(matchesLine) > 0 {
		return d.find(matchesLine, 0) >= 0
	}
	n := d.next[d.first+d.width-1]
	if n == unknown {
		n, _ = d.step(d.first, int(d.width)-1)
	}
	return n == matched
}

// step works out what follows s on a byte of class c, the last of which is the
// end of the text. It returns s again, which has another number when the
// states had to be forgotten.
func (d *dfa) step(s uint32, c int) (n, same uint32) {
	at := d.states[s/d.width]
	if d.memory > maxStates {
		if d.resets++; d.resets > 16 && d.scanned < 64*len(d.states) {
			d.failed = true
			return dead, s
		}
		d.reset()
		d.following.clear()
		for _, i := range at.insts {
			d.following.add(i)
		}
		s = d.intern(at.prev)
		at = d.states[s/d.width]
	}
	n = d.transition(at, c)
	d.next[s+uint32(c)] = n
	return n, s
}

// transition is what comes after a state on a byte of class c.
func (d *dfa) transition(at state, c int) uint32 {
	end := c == int(d.width)-1
	var b byte
	if !end {
		b = d.p.sample[c]
	}
	lines := !d.p.options.multiline
	prev := prevContext{word: d.p.hasWordBoundary && !end && isWord(b), lineStart: b == '\n'}
	if b == '\r' && lines && !d.p.options.keepCR {
		prev.cr = true
		prev.crMatch = d.expand(at, nextContext{lineEnd: true, textEnd: true})
	}
	lineEnd := end || b == '\n'
	ends := d.expand(at, nextContext{word: prev.word, lineEnd: lineEnd, textEnd: end || lines && lineEnd})
	if at.prev.cr && lineEnd {
		ends = at.prev.crMatch
	}
	switch {
	case ends:
		return matched
	case end:
		return done
	case lines && lineEnd:
		return d.first
	}
	d.advance(b, prev)
	return d.intern(prev)
}

package search

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A dfa runs a program with one table lookup for each byte. Its states are sets of
// instructions. They are built when first needed, and discarded when they use too
// much memory. A dfa is for one goroutine.
type dfa struct {
	p      *program
	width  uint32   // columns of next: one for each byte class, and one for the end of the text
	next   []uint32 // the transition table
	states []state
	index  map[string]uint32
	memory int    // estimated bytes of all states
	first  uint32 // the state at the start of a line, or of the text

	scanned int // bytes scanned since the states were last discarded
	resets  int
	failed  bool // states were discarded too often

	current, following *sparseSet // of instructions
	stack              []int32
	key                []byte
}

// Values of next that are not states. They are less than the number of the first state.
const (
	unknown uint32 = iota
	matched
	dead // no match is possible in the rest of this line
	done // end of the text
	specials
)

const maxStates = 1 << 20 // bytes for all states

// A state is a set of instructions, after all steps that consume no byte.
type state struct {
	insts []int32 // sorted
	prev  prevContext
}

// prevContext has the properties of the bytes before a state.
type prevContext struct {
	word      bool
	lineStart bool
	textStart bool
	cr        bool // the last byte was a "\r" that may belong to the line end,
	crMatch   bool // and there is a match before it if it does
}

func newDFA(p *program) *dfa {
	d := &dfa{p: p, index: map[string]uint32{}}
	d.width = max(uint32(len(p.sample)+1), specials)
	d.current, d.following = newSparseSet(len(p.insts)), newSparseSet(len(p.insts))
	d.reset()
	return d
}

func (d *dfa) reset() {
	d.next = append(d.next[:0], make([]uint32, d.width)...) // row 0 is never a state
	d.states = append(d.states[:0], state{})
	clear(d.index)
	d.memory, d.scanned = 0, 0
	begin := prevContext{lineStart: true, textStart: true}
	d.following.clear()
	d.addClosure(d.p.start, begin)
	d.first = d.intern(begin)
}

// find returns a position at or after from that proves a match, or -1. The match is in the line
// of this position, or ends there. from is the start of a line, and buf ends at the end of a
// line.
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

// matchesLine reports whether a line without its line end matches.
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

// step computes the transition of state s for byte class c; the last class is the end
// of the text. It also returns s, because s gets another number if the states are
// discarded.
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

// transition returns the successor of a state for byte class c.
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

// nextContext has the known properties of the next byte.
type nextContext struct {
	word    bool
	lineEnd bool
	textEnd bool
}

// addClosure adds to d.following the instructions that are reachable from at without
// knowing the next byte.
func (d *dfa) addClosure(at int32, prev prevContext) {
	d.stack = append(d.stack[:0], at)
	for len(d.stack) > 0 {
		at := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !d.following.add(at) {
			continue
		}
		switch i := &d.p.insts[at]; i.op {
		case opSplit:
			d.stack = append(d.stack, i.other, i.out)
		case opAssert:
			if looksBack(i.cond) && holds(i.cond, prev, nextContext{}) {
				d.stack = append(d.stack, i.out)
			}
		}
	}
}

// expand sets d.current to the instructions of a state that may consume the next byte.
// It reports whether the pattern matches before that byte.
func (d *dfa) expand(s state, a nextContext) bool {
	d.current.clear()
	d.stack = append(d.stack[:0], s.insts...)
	for len(d.stack) > 0 {
		at := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !d.current.add(at) {
			continue
		}
		switch i := &d.p.insts[at]; i.op {
		case opMatch:
			return true
		case opSplit:
			d.stack = append(d.stack, i.other, i.out)
		case opAssert:
			if holds(i.cond, s.prev, a) {
				d.stack = append(d.stack, i.out)
			}
		}
	}
	return false
}

// advance sets d.following to the instructions after d.current consumes b. A match may
// also begin after b.
func (d *dfa) advance(b byte, prev prevContext) {
	d.following.clear()
	for _, at := range d.current.dense {
		if i := &d.p.insts[at]; i.op == opByte && d.p.sets[i.set].has(b) {
			d.addClosure(i.out, prev)
		}
	}
	d.addClosure(d.p.start, prev)
}

// intern returns the state for d.following, or dead. It creates the state if needed.
func (d *dfa) intern(prev prevContext) uint32 {
	insts := slices.DeleteFunc(d.following.dense, func(at int32) bool {
		i := &d.p.insts[at]
		return i.op == opSplit || i.op == opAssert && looksBack(i.cond)
	})
	d.following.dense = insts
	if slices.Contains(insts, 0) { // opMatch: nothing else makes a difference
		insts = append(insts[:0], 0)
	}
	if o := d.p.options; len(insts) == 0 && !o.multiline && !o.word && !prev.crMatch {
		return dead
	}
	slices.Sort(insts)
	if !slices.ContainsFunc(insts, func(at int32) bool { return d.p.insts[at].op == opAssert }) {
		prev.word, prev.lineStart, prev.textStart = false, false, false // no condition depends on them
	}
	d.key = d.key[:0]
	for _, flag := range []bool{prev.word, prev.lineStart, prev.textStart, prev.cr, prev.crMatch} {
		if flag {
			d.key = append(d.key, 1)
		} else {
			d.key = append(d.key, 0)
		}
	}
	for _, at := range insts {
		d.key = binary.AppendVarint(d.key, int64(at))
	}
	if n, ok := d.index[string(d.key)]; ok {
		return n
	}
	n := uint32(len(d.next))
	d.next = append(d.next, make([]uint32, d.width)...)
	d.states = append(d.states, state{insts: slices.Clone(insts), prev: prev})
	d.index[string(d.key)] = n
	d.memory += 4*int(d.width) + 4*len(insts) + len(d.key) + 100
	return n
}

// looksBack reports whether a condition depends only on the bytes before a position.
func looksBack(c condition) bool {
	return c == atLineStart || c == atTextStart || c == noWordBefore
}

func holds(c condition, prev prevContext, a nextContext) bool {
	switch c {
	case atLineStart:
		return prev.lineStart
	case atTextStart:
		return prev.textStart
	case atLineEnd:
		return a.lineEnd
	case atTextEnd:
		return a.textEnd
	case atBoundary:
		return prev.word != a.word
	case noBoundary:
		return prev.word == a.word
	case noWordBefore:
		return !prev.word
	case noWordAfter:
		return !a.word
	}
	return false
}

// A sparseSet is a set of small integers that can be cleared in constant time.
type sparseSet struct {
	dense    []int32
	position []int32
}

func newSparseSet(size int) *sparseSet {
	return &sparseSet{dense: make([]int32, 0, size), position: make([]int32, size)}
}

func (s *sparseSet) clear() { s.dense = s.dense[:0] }

// add adds n and reports whether it was not yet in the set.
func (s *sparseSet) add(n int32) bool {
	if at := s.position[n]; int(at) < len(s.dense) && s.dense[at] == n {
		return false
	}
	s.position[n] = int32(len(s.dense))
	s.dense = append(s.dense, n)
	return true
}

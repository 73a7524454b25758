package search

import (
	"encoding/binary"
	"slices"
)

// findAfter is what is known of the byte to come.
type nextContext struct {
	word    bool
	lineEnd bool
	textEnd bool
}

// addClosure adds to d.then what can happen at an instruction before the next byte
// is known.
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

// lineMatches puts into d.now what can take the next byte, and reports whether the
// pattern matches before it.
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

// advance fills d.then with what follows d.now on b; everywhere a match may
// begin anew.
func (d *dfa) advance(b byte, prev prevContext) {
	d.following.clear()
	for _, at := range d.current.dense {
		if i := &d.p.insts[at]; i.op == opByte && d.p.sets[i.set].has(b) {
			d.addClosure(i.out, prev)
		}
	}
	d.addClosure(d.p.start, prev)
}

// intern returns the number of the state that d.then is, times d.width, or dead.
func (d *dfa) intern(prev prevContext) uint32 {
	insts := slices.DeleteFunc(d.following.dense, func(at int32) bool {
		i := &d.p.insts[at]
		return i.op == opSplit || i.op == opAssert && looksBack(i.cond)
	})
	d.following.dense = insts
	if slices.Contains(insts, 0) { // the match: nothing else makes a difference
		insts = append(insts[:0], 0)
	}
	if o := d.p.options; len(insts) == 0 && !o.multiline && !o.word && !prev.crMatch {
		return dead
	}
	slices.Sort(insts)
	if !slices.ContainsFunc(insts, func(at int32) bool { return d.p.insts[at].op == opAssert }) {
		prev.word, prev.lineStart, prev.textStart = false, false, false // nobody asks
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

// looksBack reports whether the bytes before a place decide about c.
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

// A sparseSet is a set of small numbers that is emptied in no time.
type sparseSet struct {
	dense    []int32
	position []int32
}

func newSparseSet(size int) *sparseSet {
	return &sparseSet{dense: make([]int32, 0, size), position: make([]int32, size)}
}

func (s *sparseSet) clear() { s.dense = s.dense[:0] }

// add reports whether n is new to the set.
func (s *sparseSet) add(n int32) bool {
	if at := s.position[n]; int(at) < len(s.dense) && s.dense[at] == n {
		return false
	}
	s.position[n] = int32(len(s.dense))
	s.dense = append(s.dense, n)
	return true
}

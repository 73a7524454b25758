package search

import (
	"encoding/binary"
	"slices"
)

// after is what is known of the byte to come.
type after struct {
	word    bool
	lineEnd bool
	textEnd bool
}

// follow adds to d.then what can happen at an instruction before the next byte
// is known.
func (d *dfa) follow(at int32, prev before) {
	d.stack = append(d.stack[:0], at)
	for len(d.stack) > 0 {
		at := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !d.then.add(at) {
			continue
		}
		switch i := &d.p.insts[at]; i.op {
		case opSplit:
			d.stack = append(d.stack, i.other, i.out)
		case opAssert:
			if looksBack(i.when) && holds(i.when, prev, after{}) {
				d.stack = append(d.stack, i.out)
			}
		}
	}
}

// matches puts into d.now what can take the next byte, and reports whether the
// pattern matches before it.
func (d *dfa) matches(s state, a after) bool {
	d.now.clear()
	d.stack = append(d.stack[:0], s.insts...)
	for len(d.stack) > 0 {
		at := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		if !d.now.add(at) {
			continue
		}
		switch i := &d.p.insts[at]; i.op {
		case opMatch:
			return true
		case opSplit:
			d.stack = append(d.stack, i.other, i.out)
		case opAssert:
			if holds(i.when, s.prev, a) {
				d.stack = append(d.stack, i.out)
			}
		}
	}
	return false
}

// advance fills d.then with what follows d.now on b; everywhere a match may
// begin anew.
func (d *dfa) advance(b byte, prev before) {
	d.then.clear()
	for _, at := range d.now.dense {
		if i := &d.p.insts[at]; i.op == opByte && d.p.sets[i.set].has(b) {
			d.follow(i.out, prev)
		}
	}
	d.follow(d.p.start, prev)
}

// intern returns the number of the state that d.then is, times d.width, or dead.
func (d *dfa) intern(prev before) uint32 {
	insts := slices.DeleteFunc(d.then.dense, func(at int32) bool {
		i := &d.p.insts[at]
		return i.op == opSplit || i.op == opAssert && looksBack(i.when)
	})
	d.then.dense = insts
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

func holds(c condition, prev before, a after) bool {
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

// A sparse is a set of small numbers that is emptied in no time.
type sparse struct {
	dense []int32
	place []int32
}

func newSparse(size int) *sparse {
	return &sparse{dense: make([]int32, 0, size), place: make([]int32, size)}
}

func (s *sparse) clear() { s.dense = s.dense[:0] }

// add reports whether n is new to the set.
func (s *sparse) add(n int32) bool {
	if at := s.place[n]; int(at) < len(s.dense) && s.dense[at] == n {
		return false
	}
	s.place[n] = int32(len(s.dense))
	s.dense = append(s.dense, n)
	return true
}

package scrub

import (
	"math/bits"
	"sync"
)

// A program is everything that a search needs. It does not change.
type program struct {
	triggers []trigger // the triggers in index
	index    *index
	extra    []Rule
	allow    allow
	textPool *sync.Pool // of *text, so that a search does not allocate
	reach    int        // the most that a known value begins before its trigger; 0 if there is none
}

const (
	block  = 32 // bytes examined at once
	sample = 26 // from the first to the last byte that isRun examines
	inRun  = token | dot
)

// scan appends the spans of t from its floor on, in order and without overlaps. It returns the
// first position that needs more text for a decision: len(t.s) if there is none.
func (p *program) scan(t *text, spans []span) ([]span, int) {
	i := max(t.floor, t.done)
	for base := i &^ (block - 1); base < len(t.s); base += block {
		var hits uint32
		var long bool
		if base, hits, long = p.index.next(t.s, base); base >= len(t.s) {
			break
		}
		if long && base >= i {
			hits |= 1
		}
		if base < i {
			hits &^= 1<<(i-base) - 1
		}
		for ; hits != 0; hits &= hits - 1 {
			at := base + bits.TrailingZeros32(hits)
			if at < i {
				continue
			}
			isLong := long && at == base
			if !isLong && p.index.first(t.s, at) == 0 {
				continue // a false positive of the filter
			}
			t.touched = false
			found, ok := p.look(t, at, isLong)
			if t.touched && t.more {
				return spans, max(t.floor, t.done, min(at-spanLookBack, at-p.reach))
			}
			if ok {
				spans = append(spans, found)
				t.done, i = found.to, found.to
			}
		}
		if i > base+block {
			base = i&^(block-1) - block
		}
	}
	return spans, t.hold(p.reach)
}

// hold returns the first position where triggers may still become complete: the start of the
// last word if more text may follow.
func (t *text) hold(reach int) int {
	if !t.more {
		return len(t.s)
	}
	i := len(t.s)
	for i > 0 && i > len(t.s)-spanLookBack && !white.has(t.s[i-1]) {
		i--
	}
	return max(t.floor, t.done, min(i, len(t.s)-reach))
}

// look calls the finders with a trigger at i. A long run with a secret may be
// part of a longer secret with an earlier trigger.
func (p *program) look(t *text, i int, long bool) (span, bool) {
	if found, ok := p.triggered(t, i); ok || !long {
		return found, ok
	}
	found, ok := p.accept(t, longRun, i)
	if !ok {
		return found, false
	}
	for j := i + 1; j <= found.from; j++ {
		if wider, ok := p.triggered(t, j); ok && wider.from <= found.from {
			return wider, true
		}
	}
	return found, true
}

// triggered calls the finders of the window at i.
func (p *program) triggered(t *text, i int) (span, bool) {
	for l := p.index.first(t.s, i); l != 0; {
		link := &p.index.chain[l-1]
		if at := i - int(link.back); at >= 0 {
			if found, ok := p.accept(t, link.find, at); ok {
				return found, true
			}
		}
		l = link.next
	}
	return span{}, false
}

// accept calls one finder. It ignores a span that is allowed, written already, or
// empty.
func (p *program) accept(t *text, find finder, at int) (span, bool) {
	t.limit, t.clipped = at+lookAhead, false
	found, ok := find(t, at)
	if ok && t.clipped { // certain now, so find the end of the long span
		t.limit = len(t.s)
		found, ok = find(t, at)
	}
	if !ok {
		return found, false
	}
	found.from, found.to = t.wholeEscapes(found.from, found.to)
	found.from = max(found.from, t.done, t.floor)
	if found.from >= found.to {
		return found, false
	}
	return found, !p.allow.has(t.s[found.from:found.to])
}

// next returns the first block from base on with a window that the filter accepts
// (one bit for each position) or a long run.
func (x *index) next(s string, base int) (int, uint32, bool) {
	for ; base+block+8 <= len(s); base += block {
		b := s[base : base+block+8]
		if hits, long := x.hits(b), isRun(b); hits != 0 || long {
			return base, hits, long
		}
	}
	for ; base < len(s); base += block {
		b := s[base:]
		if hits, long := x.lastHits(b), len(b) > sample && isRun(b); hits != 0 || long {
			return base, hits, long
		}
	}
	return base, 0, false
}

// lastHits is hits for fewer than 40 bytes.
func (x *index) lastHits(b string) (hits uint32) {
	for i := 0; i < block && i+4 <= len(b); i++ {
		if x.known(windowOf(b[i:])) {
			hits |= 1 << i
		}
	}
	return hits
}

// hits returns a bit for each of the first 32 positions of b where the filter
// accepts the window. b has at least 40 bytes.
func (x *index) hits(b string) (hits uint32) {
	const shift = 32 - hashBits + 6
	for g := 0; g < block; g += 4 {
		v := load(b, g) | folding<<32 | folding
		v1, v2, v3, v4 := v>>8, v>>16, v>>24, v>>32
		if x.filter[uint32(v)*mixing>>shift]&(1<<(v1&63)) != 0 {
			hits |= 1 << g
		}
		if x.filter[uint32(v1)*mixing>>shift]&(1<<(v2&63)) != 0 {
			hits |= 2 << g
		}
		if x.filter[uint32(v2)*mixing>>shift]&(1<<(v3&63)) != 0 {
			hits |= 4 << g
		}
		if x.filter[uint32(v3)*mixing>>shift]&(1<<(v4&63)) != 0 {
			hits |= 8 << g
		}
	}
	return hits
}

func load(b string, i int) uint64 {
	b = b[i : i+8]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// isRun examines every other byte: a run of 58 is found in one block or the next.
func isRun(b string) bool {
	_ = b[sample]
	return inRunTable[b[0]]&inRunTable[b[2]]&inRunTable[b[4]]&inRunTable[b[6]]&inRunTable[b[8]]&
		inRunTable[b[10]]&inRunTable[b[12]]&inRunTable[b[14]]&inRunTable[b[16]]&inRunTable[b[18]]&
		inRunTable[b[20]]&inRunTable[b[22]]&inRunTable[b[24]]&inRunTable[b[26]] != 0
}

// inRunTable is 1 for the bytes of long runs.
var inRunTable = func() (t [256]uint8) {
	for b := range t {
		if inRun.has(byte(b)) {
			t[b] = 1
		}
	}
	return t
}()

package scrub

import (
	"math/bits"
	"slices"
)

// A finder returns the secret at a trigger, if there is one. at is the start of
// the trigger's word.
type finder func(t *text, at int) (span, bool)

// A trigger is four bytes, in any case, that every secret of a kind contains.
type trigger struct {
	windows []uint32 // alternatives
	back    int      // from the start of the word to the window
	find    finder
}

const (
	hashBits = 18 // of the filter: 32 KiB
	folding  = 0x20202020
	mixing   = 0x2E60BD37 // chosen so that source and logs collide with few triggers
)

// An index finds the triggers of a text. The filter rejects nearly every position
// in a few instructions; the slots are exact.
type index struct {
	filter [1 << (hashBits - 6)]uint64
	slots  []slot // open addressing, a power of two
	chain  []link
}

type slot struct {
	window uint32
	first  int32 // in chain, counted from 1; 0 is an empty slot
}

type link struct {
	next int32
	back int32
	find finder
}

func newIndex(triggers []trigger) *index {
	n := 0
	for _, t := range triggers {
		n += len(t.windows)
	}
	x := &index{slots: make([]slot, 1<<bits.Len(uint(2*n))), chain: make([]link, 0, n)}
	x.add(triggers)
	return x
}

// with returns x with more triggers before its own. all are the triggers of x.
func (x *index) with(more, all []trigger) *index {
	n := len(x.chain)
	for _, t := range more {
		n += len(t.windows)
	}
	if 2*n > len(x.slots) {
		return newIndex(slices.Concat(more, all))
	}
	y := &index{filter: x.filter, slots: slices.Clone(x.slots), chain: slices.Clone(x.chain)}
	y.add(more)
	return y
}

// add inserts triggers before the existing ones.
func (x *index) add(triggers []trigger) {
	for _, t := range slices.Backward(triggers) { // each becomes the head: keep their order
		for _, window := range t.windows {
			word, bit := bitOf(window)
			x.filter[word] |= bit
			s := x.slot(window)
			s.window = window
			x.chain = append(x.chain, link{next: s.first, back: int32(t.back), find: t.find})
			s.first = int32(len(x.chain))
		}
	}
}

// bitOf returns the position of a window's bit in the filter: the word depends on all four
// bytes, the bit on the second, without a computation.
func bitOf(window uint32) (word uint32, bit uint64) {
	return window * mixing >> (32 - hashBits + 6), 1 << (window >> 8 & 63)
}

// known reports whether the window may be a trigger.
func (x *index) known(window uint32) bool {
	word, bit := bitOf(window)
	return x.filter[word]&bit != 0
}

// slot returns the slot of a window, or the free one for it.
func (x *index) slot(window uint32) *slot {
	last := uint32(len(x.slots) - 1)
	for i := window * mixing >> 7 & last; ; i = (i + 1) & last {
		if s := &x.slots[i]; s.first == 0 || s.window == window {
			return s
		}
	}
}

// windowOf folds the first four bytes of s.
func windowOf(s string) uint32 {
	return (uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24) | folding
}

// windows lists the windows that a pattern of four stands for: ? is any
// letter, digit, _ or -, # is a digit, % a hexadecimal one, and the rest
// stand for themselves.
func windows(pattern string) []uint32 {
	const digits = "0123456789"
	all := []uint32{0}
	for i, c := range []byte(pattern) {
		members := string(c)
		switch c {
		case '?':
			members = "abcdefghijklmnopqrstuvwxyz_-" + digits
		case '#':
			members = digits
		case '%':
			members = "abcdef" + digits
		}
		longer := make([]uint32, 0, len(all)*len(members))
		for _, head := range all {
			for _, m := range []byte(members) {
				longer = append(longer, head|uint32(m|0x20)<<(8*i))
			}
		}
		all = longer
	}
	return all
}

// on makes the triggers for find, one for each pattern. The word begins back
// bytes before the window.
func on(find finder, back int, patterns ...string) []trigger {
	out := make([]trigger, len(patterns))
	for i, p := range patterns {
		out[i] = trigger{windows(p), back, find}
	}
	return out
}

// onPrefix makes the triggers for words that begin with prefix, and go on
// with wild, one of the signs of windows.
func onPrefix(find finder, prefix, wild string) []trigger {
	for len(prefix) < 4 {
		prefix += wild
	}
	return on(find, 0, prefix[:4])
}

// first returns the first link for the window at i, counted from 1, or 0.
func (x *index) first(s string, i int) int32 {
	if i+4 > len(s) {
		return 0
	}
	return x.slot(windowOf(s[i:])).first
}

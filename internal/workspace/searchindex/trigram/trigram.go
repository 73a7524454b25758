// Package trigram says which runs of three bytes a text has, and which of them
// a text must have for a regular expression to match in it.
//
// Letters count as their lower case, so that one index answers both kinds of
// question, and no run spans the end of a line. It knows nothing of files and
// of how the runs are kept: see package segment. What it says is never too
// much: a text that matches always has what [Of] asks for, unless [Bag.Add]
// called the text odd. Begin with [Of] and [Query.Eval].
package trigram

import "bytes"

// A T is three bytes, the first in the highest place.
type T uint32

const tSpace = 1 << 24

// lower turns a byte into what it counts as.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// A Bag collects the trigrams of one text after another. The zero Bag is ready.
type Bag struct {
	seen  []uint64 // a bit for each T
	fold  [256]byte
	found []T
}

// MaxTrigrams is the number of different trigrams from which on Add gives up: such a
// text is not worth the room.
const MaxTrigrams = 1 << 17

// Add returns the different trigrams of text, in no order; they are valid until
// the next call. The answer is odd for texts that an index cannot judge: those
// with too many trigrams, and those with one of the two letters outside ASCII
// that count as ASCII letters when case does not matter.
func (b *Bag) Add(text []byte) (found []T, odd bool) {
	if b.seen == nil {
		b.seen = make([]uint64, tSpace/64)
		for c := range b.fold {
			b.fold[c] = lower(byte(c))
		}
	}
	for _, t := range b.found {
		b.seen[t/64] = 0
	}
	b.found = b.found[:0]
	if bytes.Contains(text, []byte("\u017f")) || bytes.Contains(text, []byte("\u212a")) {
		return nil, true
	}
	for len(text) > 0 {
		n := min(len(text), 1<<16)
		b.collect(text[:n])
		if len(b.found) > MaxTrigrams {
			return nil, true
		}
		if n == len(text) {
			break
		}
		text = text[n-2:] // what spans both parts
	}
	return b.found, false
}

func (b *Bag) collect(text []byte) {
	seen, found, t, run := b.seen, b.found, uint32(0), 0
	for _, c := range text {
		if c == '\n' || c == '\r' {
			run = 0
			continue
		}
		t = (t<<8 | uint32(b.fold[c])) & (tSpace - 1)
		if run++; run < 3 {
			continue
		}
		if word, bit := &seen[t/64], uint64(1)<<(t%64); *word&bit == 0 {
			*word |= bit
			found = append(found, T(t))
		}
	}
	b.found = found
}

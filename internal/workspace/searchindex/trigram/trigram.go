// Package trigram determines the trigrams of a text, and the trigrams that every match of a
// regular expression has.
//
// The idea comes from Russ Cox's google/codesearch (see package literal, which analyzes
// expressions); the code is our own. Letters count as lower case, so that one index serves
// searches with and without case. No trigram spans a line end. The package does not know
// files, nor how trigrams are stored (see package segment). A text that matches always
// satisfies the query of [Of], unless [Bag.Add] reports the text as odd. Begin with [Of].
package trigram

import "bytes"

// A T is a trigram: three bytes, the first one in the highest bits.
type T uint32

const tSpace = 1 << 24

// lower returns the indexed form of c.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// A Bag collects the trigrams of one text after another. The zero Bag is ready to use.
type Bag struct {
	seen  []uint64 // a bit for each T
	fold  [256]byte
	found []T
}

// MaxTrigrams is the maximum number of different trigrams of a text. A text with more is
// not worth indexing.
const MaxTrigrams = 1 << 17

// Add returns the different trigrams of text, in any order. They are valid until the next
// call. odd reports that the text cannot be indexed: it has too many trigrams, or it has
// one of the two letters outside ASCII that match ASCII letters when case is ignored.
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
		text = text[n-2:] // trigrams that span both parts
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

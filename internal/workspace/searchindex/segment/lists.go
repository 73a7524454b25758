package segment

import (
	"encoding/binary"
	"math/bits"
	"sort"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// A list holds the numbers of the files that have a trigram: as bits when they
// are many, else each as its distance from the one before.
type list struct {
	data  []byte
	count int
	bits  bool
}

// dense reports whether bits are the shorter way to write a list.
func dense(count, files int) bool { return count >= files/8 }

func (s *Segment) list(t trigram.T) list {
	i := sort.Search(s.terms, func(i int) bool { return u32(s.dict[i*dictSize:]) >= int(t) })
	if i == s.terms || u32(s.dict[i*dictSize:]) != int(t) {
		return list{}
	}
	return s.term(i)
}

// term is the list of the trigram at a place of the dictionary.
func (s *Segment) term(i int) list {
	r := s.dict[i*dictSize:]
	from, to := binary.LittleEndian.Uint64(r[8:]), uint64(len(s.lists))
	if i+1 < s.terms {
		to = binary.LittleEndian.Uint64(r[dictSize+8:])
	}
	count := u32(r[4:])
	return list{s.lists[from:to], count, dense(count, s.files)}
}

// each calls yield for the numbers of a list in order, until it returns false.
func (l list) each(yield func(uint32) bool) {
	if l.bits {
		for i, c := range l.data {
			for ; c != 0; c &= c - 1 {
				if !yield(uint32(i*8 + bits.TrailingZeros8(c))) {
					return
				}
			}
		}
		return
	}
	last := ^uint32(0)
	for data := l.data; len(data) > 0; {
		gap, n := binary.Uvarint(data)
		if n <= 0 {
			return
		}
		data, last = data[n:], last+uint32(gap)
		if !yield(last) {
			return
		}
	}
}

// has reports whether a list of bits holds a number.
func (l list) has(n uint32) bool {
	return int(n/8) < len(l.data) && l.data[n/8]&(1<<(n%8)) != 0
}

// appendList writes a list. The numbers are in order, each once.
func appendList(to []byte, numbers []uint32, files int) []byte {
	if !dense(len(numbers), files) {
		last := ^uint32(0)
		for _, n := range numbers {
			to, last = binary.AppendUvarint(to, uint64(n-last)), n
		}
		return to
	}
	from := len(to)
	to = append(to, make([]byte, (files+7)/8)...)
	for _, n := range numbers {
		to[from+int(n/8)] |= 1 << (n % 8)
	}
	return to
}

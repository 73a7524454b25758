package segment

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// A list is the set of files that contain a trigram: a bitmap if they are many, otherwise
// the differences between consecutive numbers.
type list struct {
	data  []byte
	count int
	bits  bool
}

// dense reports whether a bitmap is the shorter form of a list.
func dense(count, files int) bool { return count >= files/8 }

func (s *Segment) list(t trigram.T) list {
	i := sort.Search(s.terms, func(i int) bool { return u32(s.dict[i*dictSize:]) >= int(t) })
	if i == s.terms || u32(s.dict[i*dictSize:]) != int(t) {
		return list{}
	}
	return s.term(i)
}

// term returns the list of the ith trigram of the dictionary.
func (s *Segment) term(i int) list {
	r := s.dict[i*dictSize:]
	from, to := binary.LittleEndian.Uint64(r[8:]), uint64(len(s.lists))
	if i+1 < s.terms {
		to = binary.LittleEndian.Uint64(r[dictSize+8:])
	}
	count := u32(r[4:])
	return list{s.lists[from:to], count, dense(count, s.files)}
}

// each calls yield for the numbers of a list, in order, until it returns false.
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

// has reports whether a bitmap contains a number.
func (l list) has(n uint32) bool {
	return int(n/8) < len(l.data) && l.data[n/8]&(1<<(n%8)) != 0
}

// appendList appends an encoded list. The numbers are sorted and unique.
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

// Eval returns the files in [lo, hi) that may match, in order. It does not consider the
// flags Always and Binary. ok is false if the query matches all files.
func (s *Segment) Eval(q trigram.Query, lo, hi uint32) (files []uint32, ok bool) {
	if q.Op == trigram.All {
		return nil, false
	}
	e := evaluation{s, lo, min(hi, uint32(s.files))}
	return e.eval(q, nil, true), true
}

// AddAlways adds the files in [lo, hi) with the flag Always, in order.
func (s *Segment) AddAlways(files []uint32, lo, hi uint32) []uint32 {
	before := len(files)
	for _, n := range s.always {
		if n >= lo && n < hi {
			files = append(files, n)
		}
	}
	if before == len(files) {
		return files
	}
	slices.Sort(files)
	return slices.Compact(files)
}

type evaluation struct {
	*Segment
	lo, hi uint32
}

// eval returns the files of within that may match. all means that within is every file.
func (e *evaluation) eval(q trigram.Query, within []uint32, all bool) []uint32 {
	switch q.Op {
	case trigram.And:
		return e.and(q, within, all)
	case trigram.Or:
		return e.or(q, within, all)
	case trigram.None:
		return nil
	}
	return e.every(within, all)
}

func (e *evaluation) every(within []uint32, all bool) []uint32 {
	if all {
		for n := e.lo; n < e.hi; n++ {
			within = append(within, n)
		}
	}
	return within
}

func (e *evaluation) and(q trigram.Query, within []uint32, all bool) []uint32 {
	lists := make([]list, len(q.Trigrams))
	for i, t := range q.Trigrams {
		if lists[i] = e.list(t); lists[i].count == 0 {
			return nil
		}
	}
	slices.SortFunc(lists, func(a, b list) int { return a.count - b.count })
	for _, l := range lists {
		within, all = e.filter(l, within, all), false
		if len(within) == 0 {
			return nil
		}
	}
	for _, sub := range q.Sub {
		within, all = e.eval(sub, within, all), false
		if len(within) == 0 {
			return nil
		}
	}
	return e.every(within, all)
}

func (e *evaluation) or(q trigram.Query, within []uint32, all bool) []uint32 {
	found := make([]uint64, e.files/64+1)
	add := func(numbers []uint32) {
		for _, n := range numbers {
			found[n/64] |= 1 << (n % 64)
		}
	}
	for _, t := range q.Trigrams {
		add(e.filter(e.list(t), within, all))
	}
	for _, sub := range q.Sub {
		add(e.eval(sub, within, all))
	}
	var out []uint32
	for i, word := range found {
		for ; word != 0; word &= word - 1 {
			out = append(out, uint32(i*64+bits.TrailingZeros64(word)))
		}
	}
	return out
}

// filter returns the files of within that are in the list. It does not change within.
func (e *evaluation) filter(l list, within []uint32, all bool) []uint32 {
	if all {
		out := make([]uint32, 0, min(l.count, int(e.hi-min(e.lo, e.hi))))
		l.each(func(n uint32) bool {
			if n >= e.lo && n < e.hi {
				out = append(out, n)
			}
			return n < e.hi
		})
		return out
	}
	out := make([]uint32, 0, min(l.count, len(within)))
	if l.bits {
		for _, n := range within {
			if l.has(n) {
				out = append(out, n)
			}
		}
		return out
	}
	i := 0
	l.each(func(n uint32) bool {
		for i < len(within) && within[i] < n {
			i++
		}
		if i < len(within) && within[i] == n {
			out = append(out, n)
		}
		return i < len(within)
	})
	return out
}

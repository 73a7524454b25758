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
	if len(q) == 0 {
		return nil, false
	}
	e := evaluation{s, lo, min(hi, uint32(s.files))}
	clauses := make([]clause, len(q))
	for i, c := range q {
		clauses[i] = e.lookUp(c)
	}
	slices.SortFunc(clauses, func(a, b clause) int { return a.most - b.most })
	for i, c := range clauses {
		if files = e.clause(c, files, i == 0); len(files) == 0 {
			return nil, true
		}
	}
	return files, true
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

// A clause has the lists of each alternative, the shortest first, and the maximum number
// of files that satisfy it.
type clause struct {
	texts [][]list
	most  int
}

func (e *evaluation) lookUp(c trigram.Clause) (found clause) {
	for _, text := range c {
		lists := make([]list, len(text))
		for i, t := range text {
			lists[i] = e.list(t)
		}
		slices.SortFunc(lists, func(a, b list) int { return a.count - b.count })
		if lists[0].count > 0 {
			found.texts = append(found.texts, lists)
			found.most += lists[0].count
		}
	}
	return found
}

// clause returns the files of within that satisfy a clause. all means that within is every
// file.
func (e *evaluation) clause(c clause, within []uint32, all bool) []uint32 {
	var found []uint32
	for _, lists := range c.texts {
		files := within
		for i, l := range lists {
			if files = e.filter(l, files, all && i == 0); len(files) == 0 {
				break
			}
		}
		if found = append(found, files...); len(c.texts) == 1 {
			return files
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
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

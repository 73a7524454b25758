package segment

import (
	"math/bits"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/workspace/searchindex/trigram"
)

// Eval returns the files from lo to before hi that may match, in order. Which
// of them are Always or Binary does not count here. False says that the query
// takes all.
func (s *Segment) Eval(q trigram.Query, lo, hi uint32) ([]uint32, bool) {
	if q.Op == trigram.All {
		return nil, false
	}
	e := evaluation{s, lo, min(hi, uint32(s.files))}
	return e.eval(q, nil, true), true
}

// AddAlways adds to files the Always ones from lo to before hi, in order.
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

// eval keeps those of within that may match; all says that within is every
// file.
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

// filter keeps what is in the list. It does not change within.
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

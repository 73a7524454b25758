package index

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
)

// candidate is a document that may be among the best.
type candidate struct {
	id    string
	score float64
	words uint64 // a bit for each word of the query that it has
}

// before tells the better of two, and of equals the one with the smaller ID.
func (c candidate) before(d candidate) int {
	if order := cmp.Compare(d.score, c.score); order != 0 {
		return order
	}
	return strings.Compare(c.id, d.id)
}

// best keeps the best candidates, the worst of them on top.
type best struct {
	most  int
	least float64 // what a candidate needs at least
	kept  []candidate
}

func newBest(most int, least float64) *best {
	return &best{most: most, least: least}
}

// enough tells whether a document of this score could be kept.
func (b *best) enough(score float64) bool {
	return score >= b.least
}

// offer keeps the candidate, if it is better than the worst that is kept.
func (b *best) offer(c candidate) {
	switch {
	case !b.enough(c.score):
		return
	case len(b.kept) < b.most:
		heap.Push(b, c)
	case c.before(b.kept[0]) < 0:
		b.kept[0] = c
		heap.Fix(b, 0)
	}
	if len(b.kept) == b.most {
		b.least = max(b.least, b.kept[0].score)
	}
}

func (b *best) sorted() []candidate {
	slices.SortFunc(b.kept, candidate.before)
	return b.kept
}

// Len, Less, Swap, Push and Pop are what a heap needs.
func (b *best) Len() int { return len(b.kept) }

func (b *best) Less(i, j int) bool { return b.kept[i].before(b.kept[j]) > 0 }

func (b *best) Swap(i, j int) { b.kept[i], b.kept[j] = b.kept[j], b.kept[i] }

func (b *best) Push(c any) { b.kept = append(b.kept, c.(candidate)) }

func (b *best) Pop() any {
	last := b.kept[len(b.kept)-1]
	b.kept = b.kept[:len(b.kept)-1]
	return last
}

package edit

// A chunk says that a[a0:a1] was replaced by b[b0:b1]. Between chunks both
// sides are equal.
type chunk struct{ a0, a1, b0, b1 int }

const (
	maxEdits = 400     // in a part that is compared by Myers' algorithm
	maxWork  = 4 << 20 // steps of one comparison
)

// compare returns how b differs from a, in order. It finds the fewest changes if there are few. Where that would take
// too long it aligns the elements that occur once on both sides, and treats what is between them as replaced. The
// result is always correct, but not always the smallest.
func compare[T comparable](a, b []T) []chunk {
	c := comparison[T]{a: a, b: b, work: maxWork, edits: maxEdits}
	c.stretch(chunk{0, len(a), 0, len(b)}, 0)
	return c.found
}

// compareFew is compare with less work, for short texts.
func compareFew[T comparable](a, b []T) []chunk {
	c := comparison[T]{a: a, b: b, work: maxWork / 64, edits: maxEdits / 8}
	c.stretch(chunk{0, len(a), 0, len(b)}, 0)
	return c.found
}

type comparison[T comparable] struct {
	a, b  []T
	work  int // steps left
	edits int // maximum in one part
	found []chunk
}

// stretch compares the parts of a and b in c.
func (p *comparison[T]) stretch(c chunk, depth int) {
	for c.a0 < c.a1 && c.b0 < c.b1 && p.a[c.a0] == p.b[c.b0] {
		c.a0, c.b0 = c.a0+1, c.b0+1
	}
	for c.a0 < c.a1 && c.b0 < c.b1 && p.a[c.a1-1] == p.b[c.b1-1] {
		c.a1, c.b1 = c.a1-1, c.b1-1
	}
	switch {
	case c.a0 == c.a1 && c.b0 == c.b1:
		return
	case c.a0 == c.a1 || c.b0 == c.b1 || p.work <= 0:
		p.add(c)
		return
	}
	if p.closely(c) {
		return
	}
	const maxRecursion = 3
	pairs := p.landmarks(c)
	if len(pairs) == 0 || depth == maxRecursion {
		p.add(c)
		return
	}
	for _, pair := range pairs {
		p.stretch(chunk{c.a0, pair[0], c.b0, pair[1]}, depth+1)
		c.a0, c.b0 = pair[0]+1, pair[1]+1
	}
	p.stretch(c, depth+1)
}

// add appends c to the result, or extends the last chunk if they touch.
func (p *comparison[T]) add(c chunk) {
	if n := len(p.found); n > 0 && p.found[n-1].a1 == c.a0 && p.found[n-1].b1 == c.b0 {
		p.found[n-1].a1, p.found[n-1].b1 = c.a1, c.b1
		return
	}
	p.found = append(p.found, c)
}

// closely finds the fewest insertions and removals with the greedy algorithm of Myers. It returns false if there are
// too many.
func (p *comparison[T]) closely(c chunk) bool {
	a, b := p.a[c.a0:c.a1], p.b[c.b0:c.b1]
	most := min(len(a)+len(b), p.edits)
	best := make([]int, 2*most+3) // by diagonal: the furthest position in a
	at := func(k int) int { return k + most + 1 }
	allowed := p.work / 4
	var rounds [][]int
	for d := 0; d <= most; d++ {
		rounds = append(rounds, append([]int(nil), best[at(-d-1):at(d+2)]...))
		for k := -d; k <= d; k += 2 {
			x := best[at(k-1)] + 1
			if k == -d || k != d && best[at(k-1)] < best[at(k+1)] {
				x = best[at(k+1)]
			}
			start := x
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			best[at(k)] = x
			allowed -= x - start + 1
			p.work -= x - start + 1
			if x >= len(a) && x-k >= len(b) {
				p.retrace(c, rounds, len(a), len(b))
				return true
			}
		}
		if allowed < 0 {
			return false
		}
	}
	return false
}

// retrace follows the rounds backwards to find what was removed from a and inserted from b.
func (p *comparison[T]) retrace(c chunk, rounds [][]int, x, y int) {
	removed, inserted := make([]bool, x+1), make([]bool, y+1)
	lenA, lenB := x, y
	for d := len(rounds) - 1; d > 0; d-- {
		best := func(k int) int { return rounds[d][k+d+1] }
		k := x - y
		before := k - 1
		if k == -d || k != d && best(k-1) < best(k+1) {
			before = k + 1
		}
		x, y = best(before), best(before)-before
		if before < k {
			removed[x] = true
		} else {
			inserted[y] = true
		}
	}
	for i, j := 0, 0; i < lenA || j < lenB; i, j = i+1, j+1 {
		i0, j0 := i, j
		for removed[i] {
			i++
		}
		for inserted[j] {
			j++
		}
		if i > i0 || j > j0 {
			p.add(chunk{c.a0 + i0, c.a0 + i, c.b0 + j0, c.b0 + j})
		}
	}
}

// landmarks returns pairs of equal elements that occur once on each side, in the same order on both.
func (p *comparison[T]) landmarks(c chunk) [][2]int {
	type place struct{ inA, inB int } // position + 1; 0 for none, -1 for several
	seen := make(map[T]place, c.a1-c.a0)
	mark := func(old, i int) int {
		if old != 0 {
			return -1
		}
		return i + 1
	}
	for i := c.a0; i < c.a1; i++ {
		at := seen[p.a[i]]
		at.inA = mark(at.inA, i)
		seen[p.a[i]] = at
	}
	for j := c.b0; j < c.b1; j++ {
		if at, ok := seen[p.b[j]]; ok {
			at.inB = mark(at.inB, j)
			seen[p.b[j]] = at
		}
	}
	p.work -= 8 * (c.a1 - c.a0 + c.b1 - c.b0)
	var pairs [][2]int
	for i := c.a0; i < c.a1; i++ {
		if at := seen[p.a[i]]; at.inA > 0 && at.inB > 0 {
			pairs = append(pairs, [2]int{i, at.inB - 1})
		}
	}
	return ascending(pairs)
}

// ascending returns the longest subsequence of pairs in which the second numbers rise, as the first ones do.
func ascending(pairs [][2]int) [][2]int {
	var tops []int // by length: index of the pair that ends the sequence with the lowest end
	before := make([]int, len(pairs))
	for i, pair := range pairs {
		low, high := 0, len(tops)
		for low < high {
			if mid := (low + high) / 2; pairs[tops[mid]][1] < pair[1] {
				low = mid + 1
			} else {
				high = mid
			}
		}
		before[i] = -1
		if low > 0 {
			before[i] = tops[low-1]
		}
		tops = append(tops[:low], append([]int{i}, tops[min(low+1, len(tops)):]...)...)
	}
	if len(tops) == 0 {
		return nil
	}
	found := make([][2]int, len(tops))
	for n, i := len(tops)-1, tops[len(tops)-1]; n >= 0; n, i = n-1, before[i] {
		found[n] = pairs[i]
	}
	return found
}

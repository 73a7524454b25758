package meaning

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"
)

// A score is how near a piece is.
type score struct {
	id  string
	doc *document
	n   int
	cos float32
}

// before puts the nearer first, and of equals, the one with the smaller ID.
func (s score) before(t score) int {
	return cmp.Or(cmp.Compare(t.cos, s.cos), strings.Compare(s.id, t.id), cmp.Compare(s.n, t.n))
}

// A filter says which documents are looked for.
type filter struct {
	path, category string
	since, now     time.Time
}

func (f filter) takes(d *document) bool {
	return strings.HasPrefix(d.path, f.path) && (f.category == "" || d.category == f.category) &&
		!d.updated.Before(f.since) && (d.expires.IsZero() || d.expires.After(f.now))
}

// A comparison of a query with shelves keeps the best, and how near all pieces
// are on the whole.
type comparison struct {
	query  []int32
	worth  float32
	filter filter
	most   int // that are kept

	kept  []score
	least float32 // what is kept needs more

	count        int
	sum, squares float64
}

// add compares what a shelf has. What the filter does not take counts for the
// whole only.
func (c *comparison) add(s *shelf) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for id, d := range s.docs {
		taken := c.filter.takes(d)
		for _, r := range d.pieces {
			if len(r.numbers) != len(c.query) {
				continue // of another model that was called the same
			}
			cos := float32(dot(c.query, r.numbers)) * r.worth * c.worth
			c.count++
			c.sum += float64(cos)
			c.squares += float64(cos) * float64(cos)
			if taken && cos > c.least {
				c.keep(score{id, d, r.n, cos})
			}
		}
	}
}

func (c *comparison) keep(s score) {
	c.kept = append(c.kept, s)
	if len(c.kept) == 2*c.most {
		c.best()
		c.least = c.kept[c.most-1].cos
	}
}

// best are the best, in order.
func (c *comparison) best() []score {
	slices.SortFunc(c.kept, score.before)
	c.kept = c.kept[:min(len(c.kept), c.most)]
	return c.kept
}

const (
	// Pieces are near when they are nearer than the rest by so many deviations;
	// among a few, which say little about the rest, by less.
	stands = 2
	fewest = 8  // pieces that say something about the rest
	many   = 30 // pieces among which what is hardly nearer than the rest is not near
	barely = 0.1
)

// bounds are how near pieces are on the whole, which is not at all near, and
// how near they have to be to count.
func (c *comparison) bounds() (ground, least float64) {
	if c.count < fewest {
		return 0, 0
	}
	n := float64(c.count)
	mean := c.sum / n
	deviation := math.Sqrt(max(c.squares/n-mean*mean, 0))
	ground = min(max(mean, 0), 0.99)
	least = mean + min(stands, math.Sqrt(n)/2)*deviation
	if c.count >= many {
		least = max(least, ground+barely*(1-ground))
	}
	return ground, least
}

package meaning

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// A score is how near a piece is.
type score struct {
	doc *document
	n   int
	cos float32
}

// before puts the nearer first, and of equals, the one with the smaller ID.
func (s score) before(t score) int {
	return cmp.Or(cmp.Compare(t.cos, s.cos), strings.Compare(s.doc.id, t.doc.id), cmp.Compare(s.n, t.n))
}

// A filter says which documents are looked for.
type filter struct {
	path, category string
	since, until   time.Time // zero: no bound
	now            time.Time
}

func (f filter) takes(d *document) bool {
	return strings.HasPrefix(d.path, f.path) && (f.category == "" || d.category == f.category) &&
		!d.updated.Before(f.since) && (f.until.IsZero() || d.updated.Before(f.until)) && (d.expires.IsZero() || d.expires.After(f.now))
}

// A comparison of a query with shelves keeps the best, and how near how many
// pieces are.
type comparison struct {
	query  []int32
	worth  float32
	filter filter
	most   int // that are kept

	kept  []score
	least float32 // what is kept needs more

	count int
	bins  [bins]int32 // pieces by how near they are, from -1 to 1
}

const bins = 1024

// add compares what a shelf has, with several processors where there is much of
// it. What the filter does not take is counted only.
func (c *comparison) add(s *shelf) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	const enough = 1 << 20 // bytes, for another processor to be worth it
	parts := max(min(runtime.GOMAXPROCS(0), int(s.size/enough)), 1)
	others := make([]comparison, parts-1)
	var working sync.WaitGroup
	for i := range others {
		others[i] = comparison{query: c.query, worth: c.worth, filter: c.filter, most: c.most, least: c.least}
		working.Go(func() { others[i].compare(s.docs[len(s.docs)*(i+1)/parts : len(s.docs)*(i+2)/parts]) })
	}
	c.compare(s.docs[:len(s.docs)/parts])
	working.Wait()
	for i := range others {
		c.count += others[i].count
		for bin, n := range others[i].bins {
			c.bins[bin] += n
		}
		for _, one := range others[i].kept {
			c.keep(one)
		}
	}
}

func (c *comparison) compare(docs []*document) {
	for _, d := range docs {
		taken := c.filter.takes(d)
		for _, r := range d.pieces {
			if len(r.numbers) != len(c.query) {
				continue // of another model that was called the same
			}
			cos := float32(dot(c.query, r.numbers)) * r.worth * c.worth
			c.count++
			c.bins[min(max(int((cos+1)*(bins/2)), 0), bins-1)]++
			if taken && cos > c.least {
				c.keep(score{d, r.n, cos})
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
	fewest = 8   // pieces that say something about what is not near
	luck   = 0.8 // of what the nearest of so many would be by chance
	barely = 0.1 // what is no nearer than this, between the rest and the same, is not near
)

// bounds are how near pieces are that have nothing to do with the query, and how
// near those have to be that count. The former is the middle of all, and how far
// the farther half is from there says what is chance: what is near, however
// much there is of it, does not change that.
func (c *comparison) bounds() (ground, least float64) {
	if c.count < fewest {
		return 0, 0
	}
	middle, below := 0, int32(0)
	for ; 2*(below+c.bins[middle]) < int32(c.count); middle++ {
		below += c.bins[middle]
	}
	value := func(bin int) float64 { return (float64(bin)+0.5)/(bins/2) - 1 }
	squares := 0.0
	for i, n := range c.bins[:middle] {
		squares += float64(n) * math.Pow(value(middle)-value(i), 2)
	}
	ground = min(max(value(middle), 0), 0.99)
	deviation := math.Sqrt(squares / max(float64(below), 1))
	least = ground + luck*math.Sqrt(2*math.Log(float64(c.count)))*deviation
	return ground, max(least, ground+barely*(1-ground))
}

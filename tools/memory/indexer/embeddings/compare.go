package embeddings

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// A match is a part with the cosine of its angle to the query.
type match struct {
	doc    *document
	n      int
	cosine float32
}

// compare orders the nearer match first, and equal ones by ID.
func (m match) compare(other match) int {
	return cmp.Or(cmp.Compare(other.cosine, m.cosine), strings.Compare(m.doc.id, other.doc.id),
		cmp.Compare(m.n, other.n))
}

// A comparison compares a query with caches. It keeps the best matches, and a histogram of all cosines.
type comparison struct {
	Query
	vector []int32
	scale  float32
	limit  int // of matches that are kept

	matches []match
	least   float32 // cosines up to this are not kept

	count     int
	histogram [bins]int32 // of cosines from -1 to 1
}

const bins = 1024

// takes reports whether a document is one that is searched for.
func (c *comparison) takes(d *document) bool {
	return strings.HasPrefix(d.path, c.Path) && (c.Category == "" || d.category == c.Category) &&
		!d.updated.Before(c.Since) && (c.Until.IsZero() || d.updated.Before(c.Until)) &&
		(d.expires.IsZero() || d.expires.After(c.Now))
}

// add compares the vectors of a cache, with several processors if there are many. Documents that are not searched for
// count in the histogram only.
func (c *comparison) add(s *cache) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	const worthwhile = 1 << 20 // bytes, for another processor
	parts := max(min(runtime.GOMAXPROCS(0), int(s.size/worthwhile)), 1)
	others := make([]comparison, parts-1)
	var running sync.WaitGroup
	for i := range others {
		others[i] = comparison{Query: c.Query, vector: c.vector, scale: c.scale, limit: c.limit, least: c.least}
		running.Go(func() { others[i].compare(s.docs[len(s.docs)*(i+1)/parts : len(s.docs)*(i+2)/parts]) })
	}
	c.compare(s.docs[:len(s.docs)/parts])
	running.Wait()
	for i := range others {
		c.count += others[i].count
		for bin, n := range others[i].histogram {
			c.histogram[bin] += n
		}
		for _, m := range others[i].matches {
			c.keep(m)
		}
	}
}

func (c *comparison) compare(docs []*document) {
	for _, d := range docs {
		taken := c.takes(d)
		for _, v := range d.parts {
			if len(v.numbers) != len(c.vector) {
				continue // of another model of the same name
			}
			cosine := float32(dot(c.vector, v.numbers)) * v.scale * c.scale
			c.count++
			c.histogram[min(max(int((cosine+1)*(bins/2)), 0), bins-1)]++
			if taken && cosine > c.least {
				c.keep(match{d, v.n, cosine})
			}
		}
	}
}

func (c *comparison) keep(m match) {
	c.matches = append(c.matches, m)
	if len(c.matches) == 2*c.limit {
		c.best()
		c.least = c.matches[c.limit-1].cosine
	}
}

// best returns the best matches in order.
func (c *comparison) best() []match {
	slices.SortFunc(c.matches, match.compare)
	c.matches = c.matches[:min(len(c.matches), c.limit)]
	return c.matches
}

const (
	minParts  = 8   // without so many parts there are no statistics
	chance    = 0.8 // of the distance of the nearest of so many parts by chance
	minMargin = 0.1 // of the way from unrelated parts to the same meaning, that a match is nearer at least
)

// bounds returns the cosine of unrelated parts, and the least cosine of a match. The former is
// the median of all parts. The deviation of the farther half from the median shows the range of
// chance; any number of near parts does not change it.
func (c *comparison) bounds() (base, least float64) {
	if c.count < minParts {
		return 0, 0
	}
	median, below := 0, int32(0)
	for ; 2*(below+c.histogram[median]) < int32(c.count); median++ {
		below += c.histogram[median]
	}
	value := func(bin int) float64 { return (float64(bin)+0.5)/(bins/2) - 1 }
	squares := 0.0
	for i, n := range c.histogram[:median] {
		squares += float64(n) * math.Pow(value(median)-value(i), 2)
	}
	base = min(max(value(median), 0), 0.99)
	deviation := math.Sqrt(squares / max(float64(below), 1))
	least = base + chance*math.Sqrt(2*math.Log(float64(c.count)))*deviation
	return base, max(least, base+minMargin*(1-base))
}

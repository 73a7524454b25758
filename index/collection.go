package index

import (
	"math"
	"slices"
)

// A Collection finds documents by their words and ranks them as an Index ranks the documents of
// one scope. It is in memory and does not change: it is for some thousand short documents.
type Collection struct {
	ids     []string
	lengths []int
	all     counts
	by      map[string][]appearance // by term
}

// An appearance says how often a document has a term.
type appearance struct{ document, times int }

// NewCollection returns a collection of documents, whose scopes do not matter.
func NewCollection(documents []Document) *Collection {
	c := &Collection{all: counts{Languages: map[string]int{}}, by: map[string][]appearance{}}
	a := newAnalyzer()
	for n, d := range documents {
		times := map[string]int{}
		lang, length := a.count(d, func(term string, weight int) { times[term] += weight })
		for term, t := range times {
			c.by[term] = append(c.by[term], appearance{n, t})
		}
		c.ids, c.lengths = append(c.ids, d.ID), append(c.lengths, length)
		c.all.add(record{lang: lang, length: length}, 1)
	}
	return c
}

// words returns the words of a query, with the number of documents that have them.
func (c *Collection) words(text string) []word {
	words := queryWords(cut(text, maxQueryBytes), c.all.Languages)
	for i := range words {
		for _, term := range words[i].alternatives {
			words[i].documents += len(c.by[term])
		}
	}
	return words
}

// Coverage returns how much of the weight of a query's words a hit has, from 0 to
// 1. Words that no document has weigh most.
func (c *Collection) Coverage(text string, h Hit) float64 {
	has, all := 0.0, math.SmallestNonzeroFloat64
	for _, w := range c.words(text) {
		weight := w.times * idf(c.all.Documents, min(w.documents, c.all.Documents))
		all += weight
		if slices.ContainsFunc(w.alternatives, func(term string) bool { return slices.Contains(h.Terms, term) }) {
			has += weight
		}
	}
	return has / all
}

// Search finds the documents that have words of a text.
func (c *Collection) Search(text string, limit int) Result {
	p := newPlan(c.words(text), c.all)
	found := make([]candidate, len(c.ids))
	times := make([]int, len(c.ids))
	for i, w := range p.words {
		clear(times)
		for _, term := range w.alternatives {
			for _, in := range c.by[term] {
				times[in.document] += in.times
			}
		}
		for n, t := range times {
			if t > 0 && (!w.stopWord || found[n].words != 0) { // stop words are last
				found[n].score += p.score(w.weight, float64(t), float64(c.lengths[n]))
				found[n].words |= 1 << i
			}
		}
	}
	wanted := newBest(limit + 1)
	for n, one := range found {
		if one.words != 0 {
			one.id = c.ids[n]
			wanted.offer(one)
		}
	}
	return p.result(wanted.sorted(), limit)
}

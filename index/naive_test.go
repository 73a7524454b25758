package index

import (
	"cmp"
	"math"
	"slices"
)

// naive is the formula of BM25 over the same terms, slow and simple.
type naive struct {
	k1, b  float64
	ids    []string
	freqs  []map[string]float64
	length []float64
}

func (n *naive) add(id string, weighted map[string]float64, length float64) {
	n.ids = append(n.ids, id)
	n.freqs = append(n.freqs, weighted)
	n.length = append(n.length, length)
}

// put adds a document with the weights of its fields.
func (n *naive) put(d Document) {
	a := newAnalyzer()
	lang := d.Lang
	if lang == "" {
		lang = Language(d.Title + "\n" + d.Headings + "\n" + d.Body)
	}
	freq, length := map[string]float64{}, 0.0
	count := func(text string, weight float64) {
		a.tokens(text, lang, func(t Token) {
			freq[t.Term] += weight
			length += weight
		})
	}
	count(d.Title, weightTitle)
	count(d.Headings, weightHeadings)
	count(d.Body, weightBody)
	for _, tag := range d.Tags {
		count(tag, weightTags)
	}
	n.add(d.ID, freq, length)
}

// search scores every document by the words of a query.
func (n *naive) search(words []word) []candidate {
	total := 0.0
	for _, l := range n.length {
		total += l
	}
	average := total / float64(len(n.length))
	found := map[int]float64{}
	for _, w := range words {
		have := 0
		for _, f := range n.freqs {
			for _, term := range w.alternatives {
				if f[term] > 0 {
					have++
				}
			}
		}
		have = min(have, len(n.ids))
		idf := math.Log(1 + (float64(len(n.ids)-have)+0.5)/(float64(have)+0.5))
		for i, f := range n.freqs {
			tf := 0.0
			for _, term := range w.alternatives {
				tf += f[term]
			}
			if tf > 0 {
				found[i] += w.times * idf * tf * (n.k1 + 1) / (tf + n.k1*(1-n.b+n.b*n.length[i]/average))
			}
		}
	}
	var all []candidate
	for i, score := range found {
		all = append(all, candidate{id: n.ids[i], score: score})
	}
	slices.SortFunc(all, func(a, b candidate) int {
		if math.Abs(a.score-b.score) < 1e-9 {
			return cmp.Compare(a.id, b.id)
		}
		return cmp.Compare(b.score, a.score)
	})
	return all
}

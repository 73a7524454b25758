package index

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strings"

	api "github.com/blevesearch/bleve_index_api"
)

// The parameters of BM25: k1 bounds the weight of repetitions of a word, b is the influence of
// a document's length. They were measured on manual pages in four languages, long questions,
// single sentences, sections of Markdown, functions, and public collections; values nearby give
// nearly the same results. In longer texts a repetition says more.
const (
	bm25K1     = 0.9
	bm25K1Long = 1.2
	longText   = 40 // mean number of terms of a document for k1 to be bm25K1Long
	bm25B      = 0.75
)

// stopWordWeight is the weight of a stop word: among few documents a stop word
// can be rare, and must not decide. A document that has only the stop words of a
// query is not found.
const stopWordWeight = 0.1

// A plan is a query prepared for one view of the index: its words and their
// weights among all documents of the scopes together.
type plan struct {
	words  []word
	filter filter

	base, perTerm float64 // of score
}

// A word is one word of a query.
type word struct {
	alternatives []string // its terms in the languages of the scopes
	times        float64  // in the query, reduced for stop words
	stopWord     bool
	documents    int // that have the word
	weight       float64

	postings []api.TermFieldReader // one for each alternative and scope
}

// prepare makes the plan of a query. A plan without words finds nothing.
func prepare(ctx context.Context, view api.IndexReader, q Query) (*plan, error) {
	scopes := map[scopeKey]counts{}
	all := counts{Languages: map[string]int{}}
	for _, name := range q.Scopes {
		key := keyOf(name)
		if _, known := scopes[key]; known {
			continue
		}
		c, err := countsOf(view, key)
		if err != nil {
			return nil, err
		}
		if c.Documents == 0 {
			continue
		}
		scopes[key] = c
		all.Documents += c.Documents
		all.Length += c.Length
		for lang, n := range c.Languages {
			all.Languages[lang] += n
		}
	}
	words := queryWords(q.Text, all.Languages)
	if err := lookUp(ctx, view, words, scopes); err != nil {
		return nil, err
	}
	p := newPlan(words, all)
	p.filter = newFilter(q, scopes)
	return p, nil
}

// newPlan returns a plan of the words that some documents have, the heaviest first.
func newPlan(words []word, all counts) *plan {
	p := &plan{}
	if all.Length == 0 {
		return p
	}
	k1 := all.k1()
	p.base = k1 * (1 - bm25B)
	p.perTerm = k1 * bm25B * float64(all.Documents) / float64(all.Length)
	for _, w := range words {
		if w.documents > 0 {
			w.documents = min(w.documents, all.Documents)
			w.weight = w.times * (k1 + 1) * idf(all.Documents, w.documents)
			p.words = append(p.words, w)
		}
	}
	slices.SortStableFunc(p.words, heavierFirst)
	p.words = p.words[:min(len(p.words), maxWords)]
	return p
}

// k1 returns the parameter of BM25 for documents of this length.
func (c counts) k1() float64 {
	if c.Length >= longText*c.Documents {
		return bm25K1Long
	}
	return bm25K1
}

// score returns the part of a word in the score of a document that has the word freq times, by
// the length of the document.
func (p *plan) score(weight, freq, length float64) float64 {
	return weight * freq / (freq + p.base + p.perTerm*length)
}

// heavierFirst orders words by weight, stop words last.
func heavierFirst(a, b word) int {
	if a.stopWord != b.stopWord {
		if b.stopWord {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.weight, a.weight)
}

// idf returns the inverse document frequency of a word that n of all documents have.
func idf(all, n int) float64 {
	return math.Log(1 + (float64(all-n)+0.5)/(float64(n)+0.5))
}

// queryWords returns the words of a query, each with its terms in every language of the scopes,
// so that documents are found for any guess about the language of the query.
func queryWords(text string, languages map[string]int) []word {
	sorted := slices.Sorted(maps.Keys(languages))
	lang := languageAmong(text, languages)
	a := newAnalyzer()
	var words []word
	known := map[string]int{}
	split(text, forQuery, func(p piece) bool {
		w := word{times: 1, stopWord: isStopWord(p.text, lang)}
		for _, l := range sorted {
			w.alternatives = append(w.alternatives, a.term(p, l))
		}
		slices.Sort(w.alternatives)
		w.alternatives = slices.Compact(w.alternatives)
		key := strings.Join(w.alternatives, "\x00")
		if i, again := known[key]; again {
			words[i].times++
			words[i].stopWord = words[i].stopWord && w.stopWord
		} else {
			known[key] = len(words)
			words = append(words, w)
		}
		return len(words) < 4*maxWords
	})
	lowerStopWords(words)
	return words
}

// lowerStopWords reduces the weight of stop words, unless the query has no others.
func lowerStopWords(words []word) {
	isContent := func(w word) bool { return !w.stopWord }
	alone := !slices.ContainsFunc(words, isContent)
	for i := range words {
		if words[i].stopWord {
			words[i].stopWord = !alone
			if !alone {
				words[i].times *= stopWordWeight
			}
		}
	}
}

// lookUp finds the postings of the words and counts the documents.
func lookUp(ctx context.Context, view api.IndexReader, words []word, scopes map[scopeKey]counts) error {
	for i := range words {
		w := &words[i]
		for scope := range scopes {
			for _, alternative := range w.alternatives {
				list, err := view.TermFieldReader(ctx, scope.term(traitAny, alternative), fieldWords, true, true, false)
				if err != nil {
					return err
				}
				if count := list.Count(); count > 0 {
					w.documents += int(count)
					w.postings = append(w.postings, list)
				} else if err := list.Close(); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// close releases the postings.
func (p *plan) close() (err error) {
	for _, w := range p.words {
		for _, list := range w.postings {
			err = errors.Join(err, list.Close())
		}
	}
	return err
}

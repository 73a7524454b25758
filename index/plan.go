package index

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// The two numbers of BM25: how soon the repetition of a word says nothing new,
// and how much the length of a document counts against it. Both were measured
// on manual pages in four languages, long questions, single sentences, sections
// of Markdown, and functions; near these values nothing changes much.
const (
	bm25K1 = 0.9
	bm25B  = 0.75
)

// lightly is what a word that only holds the question together counts: among
// few documents such a word can be rare, and must not decide. A document that
// has no other words of the query is not found at all.
const lightly = 0.1

// plan is a query made ready for the index as it is now: its words, and what
// each of them weighs among all documents of the scopes together.
type plan struct {
	words  []word
	filter filter

	// A word that a document of length l has f times is worth
	// weight * f / (f + still + perTerm*l).
	still, perTerm float64
}

// word is one word of a query.
type word struct {
	alternatives []string // what it is in the languages of the scopes
	times        float64  // in the query
	small        bool     // and holds it together rather than being what it is about
	documents    int      // that have it
	weight       float64

	lists [][]segment.PostingsList // of each segment: one of each alternative and scope
}

// prepare reads what the query needs to know. A plan without words finds
// nothing.
func prepare(view *snapshot, q Query) (*plan, error) {
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
	p := &plan{filter: newFilter(q, scopes)}
	if all.Length == 0 {
		return p, nil
	}
	p.still = bm25K1 * (1 - bm25B)
	p.perTerm = bm25K1 * bm25B * float64(all.Documents) / float64(all.Length)
	words := askedWords(q.Text, all.Languages)
	if err := lookUp(view, words, scopes); err != nil {
		return nil, err
	}
	for _, w := range words {
		if w.documents > 0 {
			w.documents = min(w.documents, all.Documents)
			w.weight = w.times * (bm25K1 + 1) * idf(all.Documents, w.documents)
			p.words = append(p.words, w)
		}
	}
	slices.SortStableFunc(p.words, heavierFirst)
	p.words = p.words[:min(len(p.words), mostWords)]
	return p, nil
}

// heavierFirst puts the small words last, whatever they weigh.
func heavierFirst(a, b word) int {
	if a.small != b.small {
		if b.small {
			return -1
		}
		return 1
	}
	return cmp.Compare(b.weight, a.weight)
}

// idf is what it says about a document to have a word that n of all have.
func idf(all, n int) float64 {
	return math.Log(1 + (float64(all-n)+0.5)/(float64(n)+0.5))
}

// askedWords are the words of a query, each as what it is in every language
// that the scopes have documents in: a document is found by the word as it
// stands there, whatever language the query was taken for.
func askedWords(text string, languages map[string]int) []word {
	sorted := slices.Sorted(maps.Keys(languages))
	lang := languageAmong(text, languages)
	a := newAnalyzer()
	var words []word
	known := map[string]int{}
	split(text, asked, func(p piece) bool {
		w := word{times: 1, small: isSmall(p.text, lang)}
		for _, l := range sorted {
			w.alternatives = append(w.alternatives, a.term(p, l))
		}
		slices.Sort(w.alternatives)
		w.alternatives = slices.Compact(w.alternatives)
		key := strings.Join(w.alternatives, "\x00")
		if i, again := known[key]; again {
			words[i].times++
			words[i].small = words[i].small && w.small
		} else {
			known[key] = len(words)
			words = append(words, w)
		}
		return len(words) < 4*mostWords
	})
	weighSmall(words)
	return words
}

// weighSmall makes little of the small words. Where there are no others, they
// are what the query is about.
func weighSmall(words []word) {
	isContent := func(w word) bool { return !w.small }
	alone := !slices.ContainsFunc(words, isContent)
	for i := range words {
		if words[i].small {
			words[i].small = !alone
			if !alone {
				words[i].times *= lightly
			}
		}
	}
}

// lookUp finds the postings of the words, and counts the documents.
func lookUp(view *snapshot, words []word, scopes map[scopeKey]counts) error {
	for i := range words {
		words[i].lists = make([][]segment.PostingsList, len(view.parts))
	}
	for n, p := range view.parts {
		dictionary, err := p.file.Dictionary(fieldWords)
		if err != nil {
			return err
		}
		for i := range words {
			w := &words[i]
			for scope := range scopes {
				for _, alternative := range w.alternatives {
					list, err := dictionary.PostingsList(scope.term(traitAny, alternative), p.deleted, nil)
					if err != nil {
						return err
					}
					if count := list.Count(); count > 0 {
						w.documents += int(count)
						w.lists[n] = append(w.lists[n], list)
					}
				}
			}
		}
	}
	return nil
}

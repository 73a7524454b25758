package index

import (
	"cmp"
	"container/heap"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	api "github.com/blevesearch/bleve_index_api"
)

// end is a number above the number of any document.
const end = math.MaxUint64

// postings iterates over the documents of one term.
type postings struct {
	list         api.TermFieldReader
	found        api.TermFieldDoc // its memory is used again
	doc          uint64
	freq, length float64
}

func (p *postings) set(found *api.TermFieldDoc, err error) error {
	if err != nil || found == nil {
		p.doc = end
		return err
	}
	p.doc = found.ID.Value()
	p.freq = float64(found.Freq)
	p.length = math.Round(1 / (found.Norm * found.Norm)) // the segments have lengths, not norms
	return nil
}

// A stream iterates over the documents of one word, in all scopes and with all
// of its terms.
type stream struct {
	word     int // index in the plan
	doc      uint64
	parts    []postings
	maxScore float64 // the most that the word can add to a score
	maxSum   float64 // the most that this and all earlier streams can add
	target   api.IndexInternalID
}

func (p *plan) streams() ([]*stream, error) {
	var all []*stream
	for i, w := range p.words {
		s := &stream{word: i, maxScore: w.weight, doc: end, parts: make([]postings, len(w.postings))}
		for n, list := range w.postings {
			part := &s.parts[n]
			part.list = list
			if err := part.set(list.Next(&part.found)); err != nil {
				return nil, err
			}
			s.doc = min(s.doc, part.doc)
		}
		all = append(all, s)
	}
	// p.words is sorted by descending weight, stop words last.
	slices.Reverse(all)
	sum := 0.0
	for _, s := range all {
		sum += s.maxScore
		s.maxSum = sum * (1 + 1e-9) // room for rounding errors
	}
	return all, nil
}

// advance moves to the first document from doc on.
func (s *stream) advance(doc uint64) error {
	s.doc = end
	for i := range s.parts {
		p := &s.parts[i]
		if p.doc < doc {
			var err error
			if p.doc+1 == doc {
				err = p.set(p.list.Next(&p.found))
			} else {
				s.target = api.NewIndexInternalID(s.target, doc)
				err = p.set(p.list.Advance(s.target, &p.found))
			}
			if err != nil {
				return err
			}
		}
		s.doc = min(s.doc, p.doc)
	}
	return nil
}

// scoreWord returns the part of the word in the score of the stream's document.
func (p *plan) scoreWord(s *stream) float64 {
	freq, length := 0.0, 0.0
	for i := range s.parts {
		if part := &s.parts[i]; part.doc == s.doc {
			freq += part.freq
			length = part.length
		}
	}
	return p.score(s.maxScore, freq, length)
}

// A ranking iterates over all streams, document by document. Once
// enough candidates are known, documents that have only words of little weight
// cannot become candidates: those words' streams are then read only for documents
// that another word has found. The result is the same as without this.
type ranking struct {
	plan    *plan
	view    api.IndexReader
	streams []*stream // lightest first
	allowed *roaring.Bitmap
	best    *best

	required int // streams before this index cannot make a candidate on their own
	scores   [maxWords]float64
}

func (m *ranking) run(ctx context.Context) error {
	for m.required < len(m.streams) && m.plan.words[m.streams[m.required].word].stopWord {
		m.required++
	}
	for n := 1; ; n++ {
		for m.required < len(m.streams) && !m.best.reaches(m.streams[m.required].maxSum) {
			m.required++
		}
		doc := uint64(end)
		for _, s := range m.streams[m.required:] {
			doc = min(doc, s.doc)
		}
		if doc == end {
			return nil
		}
		if n&0x3fff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if m.allowed == nil || m.allowed.Contains(uint32(doc)) {
			if err := m.score(doc); err != nil {
				return err
			}
		}
		for _, s := range m.streams[m.required:] {
			if s.doc == doc {
				if err := s.advance(doc + 1); err != nil {
					return err
				}
			}
		}
	}
}

// score computes the score of a document, until it is known to be too low.
func (m *ranking) score(doc uint64) error {
	score, words := 0.0, uint64(0)
	for i := len(m.streams) - 1; i >= 0; i-- {
		s := m.streams[i]
		if !m.best.reaches(score*(1+1e-9) + s.maxSum) {
			return nil
		}
		if i < m.required && s.doc < doc {
			if err := s.advance(doc); err != nil {
				return err
			}
		}
		if s.doc == doc {
			m.scores[s.word] = m.plan.scoreWord(s)
			score += m.scores[s.word]
			words |= 1 << s.word
		}
	}
	if !m.best.reaches(score * (1 + 1e-9)) {
		return nil
	}
	id, err := m.view.ExternalID(api.NewIndexInternalID(nil, doc))
	if err != nil {
		return err
	}
	m.best.offer(candidate{id: id, number: doc, score: m.total(words), words: words})
	return nil
}

// total adds the scores in the order of the words, so that equal documents get
// equal sums in spite of rounding.
func (m *ranking) total(words uint64) (score float64) {
	for i := range m.plan.words {
		if words&(1<<i) != 0 {
			score += m.scores[i]
		}
	}
	return score
}

// A candidate is a document that may be in the result.
type candidate struct {
	id     string
	number uint64 // of the document in the view
	score  float64
	words  uint64 // a bit for each word of the query that the document has
}

// compare orders candidates by score, the best first, then by ID.
func (c candidate) compare(d candidate) int {
	if order := cmp.Compare(d.score, c.score); order != 0 {
		return order
	}
	return strings.Compare(c.id, d.id)
}

// best is a heap of the best candidates with the worst of them on top.
type best struct {
	limit     int
	threshold float64 // the minimum score of a candidate
	kept      []candidate
}

func newBest(limit int) *best { return &best{limit: limit} }

// reaches reports whether a document of this score can be a candidate.
func (b *best) reaches(score float64) bool {
	return score >= b.threshold
}

// offer adds a candidate if it is better than the worst one kept.
func (b *best) offer(c candidate) {
	switch {
	case !b.reaches(c.score):
		return
	case len(b.kept) < b.limit:
		heap.Push(b, c)
	case c.compare(b.kept[0]) < 0:
		b.kept[0] = c
		heap.Fix(b, 0)
	}
	if len(b.kept) == b.limit {
		b.threshold = max(b.threshold, b.kept[0].score)
	}
}

func (b *best) sorted() []candidate {
	slices.SortFunc(b.kept, candidate.compare)
	return b.kept
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (b *best) Len() int { return len(b.kept) }

func (b *best) Less(i, j int) bool { return b.kept[i].compare(b.kept[j]) > 0 }

func (b *best) Swap(i, j int) { b.kept[i], b.kept[j] = b.kept[j], b.kept[i] }

func (b *best) Push(c any) { b.kept = append(b.kept, c.(candidate)) }

func (b *best) Pop() any {
	last := b.kept[len(b.kept)-1]
	b.kept = b.kept[:len(b.kept)-1]
	return last
}

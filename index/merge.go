package index

import (
	"context"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// end is the number of no document.
const end = math.MaxUint64

// postings walks through the documents of one term.
type postings struct {
	it           segment.PostingsIterator
	doc          uint64
	freq, length float64
}

// lengths is implemented by the postings of Scorch: what they call the norm is
// the length of the field.
type lengths interface{ NormUint64() uint64 }

func (p *postings) take(found segment.Posting, err error) error {
	if err != nil || found == nil {
		p.doc = end
		return err
	}
	p.doc = found.Number()
	p.freq = float64(found.Frequency())
	if exact, ok := found.(lengths); ok {
		p.length = float64(exact.NormUint64())
	} else {
		p.length = math.Round(1 / (found.Norm() * found.Norm()))
	}
	return nil
}

// stream walks through the documents of one word: in all scopes and in all the
// forms that it has.
type stream struct {
	word  int // in the plan
	doc   uint64
	parts []postings
	most  float64 // that it can add to a score
	least float64 // what all streams before it and it can add together
}

func (p *plan) streams(number int) ([]*stream, error) {
	var all []*stream
	for i, w := range p.words {
		if len(w.lists[number]) == 0 {
			continue
		}
		s := &stream{word: i, most: w.weight, doc: end}
		for _, list := range w.lists[number] {
			part := postings{it: list.Iterator(true, true, false, nil)}
			if err := part.take(part.it.Next()); err != nil {
				return nil, err
			}
			s.parts = append(s.parts, part)
			s.doc = min(s.doc, part.doc)
		}
		all = append(all, s)
	}
	// p.words are sorted from the heaviest to the lightest, and the small ones.
	slices.Reverse(all)
	sum := 0.0
	for _, s := range all {
		sum += s.most
		s.least = sum * (1 + 1e-9) // sums in another order round in another way
	}
	return all, nil
}

// next goes on to the first document from doc on.
func (s *stream) next(doc uint64) error {
	s.doc = end
	for i := range s.parts {
		p := &s.parts[i]
		if p.doc < doc {
			var err error
			if p.doc+1 == doc {
				err = p.take(p.it.Next())
			} else {
				err = p.take(p.it.Advance(doc))
			}
			if err != nil {
				return err
			}
		}
		s.doc = min(s.doc, p.doc)
	}
	return nil
}

// worth is what the word adds to the score of the document that the stream is
// at.
func (p *plan) worth(s *stream) float64 {
	freq, length := 0.0, 0.0
	for i := range s.parts {
		if part := &s.parts[i]; part.doc == s.doc {
			freq += part.freq
			length = part.length
		}
	}
	return s.most * freq / (freq + p.still + p.perTerm*length)
}

// merge walks through all streams of a segment at once, document by document.
// As soon as enough documents are known, those that only have words of little
// weight cannot be among the best any more: they are never looked at, and the
// others are only as long as they could still make it. What is found is the
// same as if all had been looked at.
type merge struct {
	plan    *plan
	part    *part
	streams []*stream // from the lightest to the heaviest
	allowed *roaring.Bitmap
	wanted  *best

	needed int // streams before this one cannot make a candidate on their own
	worth  [mostWords]float64
}

func (m *merge) run(ctx context.Context) error {
	for m.needed < len(m.streams) && m.plan.words[m.streams[m.needed].word].small {
		m.needed++
	}
	for n := 1; ; n++ {
		for m.needed < len(m.streams) && !m.wanted.enough(m.streams[m.needed].least) {
			m.needed++
		}
		doc := uint64(end)
		for _, s := range m.streams[m.needed:] {
			doc = min(doc, s.doc)
		}
		if doc == end {
			return nil
		}
		if n&0x3fff == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if m.allowed == nil || m.allowed.Contains(uint32(doc)) {
			if err := m.weigh(doc); err != nil {
				return err
			}
		}
		for _, s := range m.streams[m.needed:] {
			if s.doc == doc {
				if err := s.next(doc + 1); err != nil {
					return err
				}
			}
		}
	}
}

// weigh computes the score of a document, until it is clear that it is too low.
func (m *merge) weigh(doc uint64) error {
	score, words := 0.0, uint64(0)
	for i := len(m.streams) - 1; i >= 0; i-- {
		s := m.streams[i]
		if !m.wanted.enough(score*(1+1e-9) + s.least) {
			return nil
		}
		if i < m.needed && s.doc < doc {
			if err := s.next(doc); err != nil {
				return err
			}
		}
		if s.doc == doc {
			m.worth[s.word] = m.plan.worth(s)
			score += m.worth[s.word]
			words |= 1 << s.word
		}
	}
	if !m.wanted.enough(score * (1 + 1e-9)) {
		return nil
	}
	id, err := m.part.file.DocID(doc)
	if err != nil {
		return err
	}
	m.wanted.offer(candidate{id: string(id), score: m.sum(words), words: words})
	return nil
}

// sum adds in the order of the words, so that equal documents are equal to the
// last bit.
func (m *merge) sum(words uint64) (score float64) {
	for i := range m.plan.words {
		if words&(1<<i) != 0 {
			score += m.worth[i]
		}
	}
	return score
}

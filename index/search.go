package index

import (
	"context"
	"math"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
)

// Limits of a search.
const (
	maxQueryBytes = 16 << 10 // bytes of its text that are used
	maxWords      = 64       // words that are searched for: the rarest
	maxHits       = 1000
	maxScopes     = 64
	defaultLimit  = 10
)

// A Query is plain text without operators, and the scopes to search in; without
// scopes nothing is found. Documents must have one of the Kinds and all of the
// Tags. Since is the first and Until the first excluded millisecond; 0 means no
// bound.
type Query struct {
	Text         string
	Scopes       []string
	Kinds        []string
	PathPrefix   string
	Tags         []string
	Since, Until int64
	Limit        int // 0 means 10
}

// A Hit is a document that was found.
type Hit struct {
	ID    string
	Score float64
	Terms []string // the terms of the query that the document has, for Snippet
}

// A Result lists hits, the best first; equal ones are ordered by ID.
type Result struct {
	Hits []Hit
	More bool // more hits follow
	// MaxScore is above the score of any document: a score divided by it says
	// from 0 to 1 how much of the query a document is about.
	MaxScore float64
}

// Search finds the documents of some scopes that have words of the query.
func (x *Index) Search(ctx context.Context, q Query) (found Result, err error) {
	defer catchFaults(&err)()
	x.open.RLock()
	defer x.open.RUnlock()
	if x.store == nil {
		return Result{}, ErrClosed
	}
	r := &ranked{query: q.bounded()}
	hits, err := x.store.SearchInContext(ctx, bleve.NewSearchRequestOptions(r, r.query.Limit+1, 0, false))
	if err != nil {
		return Result{}, err
	}
	return r.result(hits.Hits), nil
}

func (q Query) bounded() Query {
	q.Text = cut(q.Text, maxQueryBytes)
	if q.Limit <= 0 {
		q.Limit = defaultLimit
	}
	q.Limit = min(q.Limit, maxHits)
	if len(q.Scopes) > maxScopes {
		q.Scopes = q.Scopes[:maxScopes]
	}
	if q.Until == 0 {
		q.Until = math.MaxInt64
	}
	if q.Since == 0 {
		q.Since = math.MinInt64
	}
	return q
}

func (p *plan) result(found []candidate, limit int) Result {
	r := Result{}
	for _, w := range p.words {
		r.MaxScore += w.weight
	}
	r.More = len(found) > limit
	for _, c := range found[:min(len(found), limit)] {
		hit := Hit{ID: c.id, Score: c.score}
		for i, w := range p.words {
			if c.words&(1<<i) != 0 {
				hit.Terms = append(hit.Terms, w.alternatives...)
			}
		}
		r.Hits = append(r.Hits, hit)
	}
	return r
}

// IDs returns the IDs that begin with one of the prefixes, in no order.
func (x *Index) IDs(prefixes ...string) (ids []string, err error) {
	err = x.read(func(view *scorch.IndexSnapshot) error {
		for _, s := range view.Segments() {
			t := traitReader{segment: s.Segment(), field: "_id", deleted: s.Deleted()}
			for _, prefix := range prefixes {
				from := []byte(prefix)
				for _, id := range t.terms(from, prefixEnd(from)) {
					if t.live(id) {
						ids = append(ids, string(id))
					}
				}
			}
			if t.err != nil {
				return t.err
			}
		}
		return nil
	})
	return ids, err
}

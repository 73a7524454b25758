package index

import (
	"context"
	"errors"

	"github.com/blevesearch/bleve/v2/index/scorch"
	"github.com/blevesearch/bleve/v2/mapping"
	blevesearch "github.com/blevesearch/bleve/v2/search"
	api "github.com/blevesearch/bleve_index_api"
)

// A ranked is a Query as a query of Bleve, for one search: BM25 by the counts of
// the scopes, see plan, in place of Bleve's own ranking. Bleve's BM25 counts over
// the documents of all owners, and its nDCG is 0.02 to 0.1 lower on the collections
// of testdata/rank and on public ones; reading every posting, it also takes three times as long.
type ranked struct {
	query Query

	plan *plan
	best []candidate // the best first
}

// Searcher implements query.Query. It finds the best documents at once, because
// the ranking skips documents that cannot be among them.
func (r *ranked) Searcher(ctx context.Context, view api.IndexReader, _ mapping.IndexMapping,
	_ blevesearch.SearcherOptions) (_ blevesearch.Searcher, err error) {
	r.plan, err = prepare(ctx, view, r.query)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.plan.close()) }()
	allowed, err := r.plan.filter.allowed(view.(*scorch.IndexSnapshot))
	if err != nil {
		return nil, err
	}
	wanted := newBest(r.query.Limit + 1)
	if allowed == nil || !allowed.IsEmpty() {
		streams, err := r.plan.streams()
		if err != nil {
			return nil, err
		}
		m := ranking{plan: r.plan, view: view, streams: streams, allowed: allowed, best: wanted}
		if err := m.run(ctx); err != nil {
			return nil, err
		}
	}
	r.best = wanted.sorted()
	return &bestFirst{left: r.best}, nil
}

// result returns the hits in the order of Bleve's collector.
func (r *ranked) result(hits blevesearch.DocumentMatchCollection) Result {
	known := make(map[string]candidate, len(r.best))
	for _, c := range r.best {
		known[c.id] = c
	}
	found := make([]candidate, 0, len(hits))
	for _, hit := range hits {
		found = append(found, known[hit.ID])
	}
	return r.plan.result(found, r.query.Limit)
}

// bestFirst is a blevesearch.Searcher that returns documents in a given order, the best first.
type bestFirst struct{ left []candidate }

// Next returns the next best document.
func (b *bestFirst) Next(ctx *blevesearch.SearchContext) (*blevesearch.DocumentMatch, error) {
	if len(b.left) == 0 {
		return nil, nil
	}
	next := b.left[0]
	b.left = b.left[1:]
	match := ctx.DocumentMatchPool.Get()
	match.IndexInternalID = api.NewIndexInternalID(match.IndexInternalID, next.number)
	match.Score = next.score
	return match, nil
}

// Advance is for searchers that are combined with others by document number,
// and this one is not.
func (b *bestFirst) Advance(*blevesearch.SearchContext, api.IndexInternalID) (*blevesearch.DocumentMatch, error) {
	return nil, errors.New("ranked documents are not in the order of their numbers")
}

// The other methods of blevesearch.Searcher.
func (b *bestFirst) Close() error               { return nil }
func (b *bestFirst) Weight() float64            { return 1 }
func (b *bestFirst) SetQueryNorm(float64)       {}
func (b *bestFirst) Count() uint64              { return uint64(len(b.left)) }
func (b *bestFirst) Min() int                   { return 0 }
func (b *bestFirst) Size() int                  { return 0 }
func (b *bestFirst) DocumentMatchPoolSize() int { return 1 }

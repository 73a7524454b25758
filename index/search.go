package index

import (
	"context"
	"math"
)

// What a search is bounded by.
const (
	mostQuery  = 16 << 10 // bytes of its text that are looked at
	mostWords  = 64       // words of it that are searched for: the rarest
	mostHits   = 1000     // Offset and Limit together
	mostScopes = 64
	usualLimit = 10
)

// Query says what to find, in Text, and where. Text is text: nothing in it is an
// operator. No scopes, no hits. Kinds narrows to documents of one of them, Tags
// to those that have all of them, Since and Until to a time: the first
// millisecond, and the one after the last; 0 is no bound.
type Query struct {
	Text         string
	Scopes       []string
	Kinds        []string
	PathPrefix   string
	Tags         []string
	Since, Until int64
	Limit        int // 0 is 10
	Offset       int
	MinScore     float64 // in the measure of Hit.Score
}

// Hit is a document that was found.
type Hit struct {
	ID    string
	Score float64
	Terms []string // those of the query that it has, for Snippet
}

// Result is what a search has found, the best first; of equals, in the order of
// their IDs.
type Result struct {
	Hits []Hit
	More bool // there are others after these
	// Most is what no document can reach: a score divided by it says how much of
	// the query a document is about, from 0 to 1.
	Most float64
}

// Search finds the documents of some scopes that have words of the query.
func (x *Index) Search(ctx context.Context, q Query) (found Result, err error) {
	defer guard(&err)()
	x.open.RLock()
	defer x.open.RUnlock()
	view, err := x.view()
	if err != nil {
		return Result{}, err
	}
	defer view.Close()
	q = q.bounded()
	p, err := prepare(view, q)
	if err != nil || len(p.words) == 0 || q.Offset >= mostHits {
		return Result{}, err
	}
	wanted := newBest(q.Offset+q.Limit+1, q.MinScore)
	for i, part := range view.parts {
		if err := context.Cause(ctx); err != nil {
			return Result{}, err
		}
		if err := p.search(ctx, part, i, wanted); err != nil {
			return Result{}, err
		}
	}
	return p.result(wanted.sorted(), q), nil
}

func (q Query) bounded() Query {
	q.Text = cut(q.Text, mostQuery)
	if q.Limit <= 0 {
		q.Limit = usualLimit
	}
	q.Offset = max(q.Offset, 0)
	q.Limit = min(q.Limit, max(mostHits-q.Offset, 0))
	if len(q.Scopes) > mostScopes {
		q.Scopes = q.Scopes[:mostScopes]
	}
	if q.Until == 0 {
		q.Until = math.MaxInt64
	}
	if q.Since == 0 {
		q.Since = math.MinInt64
	}
	return q
}

func (p *plan) result(found []candidate, q Query) Result {
	r := Result{}
	for _, w := range p.words {
		r.Most += w.weight
	}
	if len(found) > q.Offset+q.Limit {
		r.More = true
		found = found[:q.Offset+q.Limit]
	}
	for _, c := range found[min(q.Offset, len(found)):] {
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

// search finds the best documents of one segment.
func (p *plan) search(ctx context.Context, part *part, number int, wanted *best) error {
	streams, err := p.streams(number)
	if err != nil || len(streams) == 0 {
		return err
	}
	allowed, err := p.filter.allowed(part)
	if err != nil {
		return err
	}
	if allowed != nil && allowed.IsEmpty() {
		return nil
	}
	m := merge{plan: p, part: part, streams: streams, allowed: allowed, wanted: wanted}
	return m.run(ctx)
}

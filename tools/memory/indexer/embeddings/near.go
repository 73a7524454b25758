package embeddings

import (
	"context"
	"time"
)

const (
	// patience is the max time that a search waits for the vector of its query
	// and for the vectors of its scopes.
	patience = 800 * time.Millisecond

	maxSize      = 192 << 20    // bytes of vectors in memory, and of one scope
	minWeight    = maxSize / 64 // of one scope, so that there are not too many
	maxDocuments = 200          // that are read at once
)

// A Query is the query of a search.
type Query struct {
	Text     string
	Scopes   []string
	Path     string // a prefix of paths
	Category string // "": all
	Since    time.Time
	Until    time.Time // zero: no bound
	Now      time.Time // documents that have expired by then are not found
	Limit    int
}

// Nearby is the result of a search. The documents that changed last may not have been compared: Pending are
// some of them, of any scope. If there are too many, Filling is set instead.
type Nearby struct {
	List    []Near
	Pending []string
	Filling bool
}

// A Near is a part that is similar to the query: the n-th of a version of a document. The score
// is 1 for the same meaning, and 0 for a part no nearer than unrelated parts.
type Near struct {
	Document string
	Version  int64
	N        int
	Score    float64
}

// Near returns the parts that are nearest to a text in meaning, the nearest first.
func (e *Embeddings) Near(ctx context.Context, q Query) (found Nearby, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	var vector []float32
	var failed error
	encoded := make(chan struct{})
	go func() {
		defer close(encoded)
		vector, failed = e.o.Encoder.Query(ctx, e.o.Scrub(q.Text))
	}()
	defer func() { cancel(); <-encoded }()
	caches, err := e.ready(ctx, q.Scopes)
	if err != nil {
		return found, err
	}
	if found.Pending, found.Filling, err = e.pending(ctx); err != nil {
		return found, err
	}
	<-encoded // ends with ctx
	if failed != nil {
		return found, failed
	}
	found.List = nearest(caches, vector, q)
	return found, nil
}

// pending returns documents that the worker has not encoded yet. If everything is to be encoded, filling is true.
func (e *Embeddings) pending(ctx context.Context) (ids []string, filling bool, err error) {
	cursor, err := e.o.Rows.Cursor(ctx)
	if err != nil {
		return nil, false, err
	}
	_, lost, _, err := e.o.Feed.Follow(ctx, cursor, maxDocuments, []string{e.documents()}, func(_, key string) {
		ids = append(ids, key)
	})
	return ids, lost, err
}

// nearest compares the vectors of caches with the vector of a query.
func nearest(caches []*cache, vector []float32, q Query) (found []Near) {
	c := comparison{Query: q, limit: max(q.Limit, 1)}
	c.vector, c.scale = quantize(vector, queryLevels)
	for _, s := range caches {
		c.add(s)
	}
	base, least := c.bounds()
	for _, s := range c.best() {
		if cos := float64(s.cosine); cos >= least {
			score := min(max((cos-base)/(1-base), 0), 1)
			found = append(found, Near{Document: s.doc.id, Version: s.doc.version, N: s.n, Score: score})
		}
	}
	return found
}

// ready returns the caches of scopes, up to date with the store.
func (e *Embeddings) ready(ctx context.Context, scopes []string) ([]*cache, error) {
	caches := make([]*cache, len(scopes))
	for i, scope := range scopes {
		c, ok := e.caches.Get(scope)
		if !ok { // of two searches at the same time one keeps its cache
			c = newCache(scope)
			e.caches.Put(scope, c)
		}
		if err := e.update(ctx, c); err != nil {
			return nil, err
		}
		caches[i] = c
	}
	return caches, nil
}

// update brings a cache up to date. Reading continues if the search that started it gives up; the next search
// uses it.
func (e *Embeddings) update(ctx context.Context, c *cache) error {
	select {
	case c.busy <- struct{}{}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	updated := make(chan error, 1)
	started := e.start(func() {
		err := c.update(e.ctx, e.o.Rows, e.o.Feed)
		e.caches.Put(c.scope, c) // its size has changed
		<-c.busy
		updated <- err
	})
	if !started {
		return errClosed
	}
	select {
	case err := <-updated:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// start runs f in the background, unless the Embeddings are closed.
func (e *Embeddings) start(f func()) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ctx.Err() != nil {
		return false
	}
	e.done.Go(f)
	return true
}

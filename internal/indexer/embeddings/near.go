package embeddings

import (
	"context"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/indexer"
)

const (
	// patience is the max time that a search waits for the vector of its query
	// and for the vectors of its scopes.
	patience = 800 * time.Millisecond

	maxSize      = 192 << 20 // bytes of vectors in memory, and of one scope
	maxCaches    = 64
	maxDocuments = 200 // that are read at once
)

// A Query names what to search for.
type Query struct {
	Text     string
	Scopes   []string
	Path     string // a prefix of paths
	Category string // "": all
	Since    time.Time
	Until    time.Time // zero: no bound
	Now      time.Time // what has expired by then is not found
	Limit    int
}

// Nearby is the result of a search. The documents that changed last may not have been compared: Pending are
// some of them, of any scope. If there are too many, Filling is set instead.
type Nearby struct {
	List    []Near
	Pending []string
	Filling bool
}

// A Near is a part that is similar to the query: the n-th of a version of a document. The score is 1 for the
// same meaning, and 0 for what is no nearer than unrelated parts.
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
	<-encoded // which ends with ctx
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
	_, lost, _, err := e.o.Follower.Feed().Follow(ctx, cursor, maxDocuments, e.topics[:1], func(_, key string) {
		ids = append(ids, key)
	})
	return ids, lost, err
}

// nearest compares the vectors of caches with that of a query.
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

// ready returns the caches of scopes, with what is in the store now.
func (e *Embeddings) ready(ctx context.Context, scopes []string) ([]*cache, error) {
	e.mu.Lock()
	if e.closed {
		e.mu.Unlock()
		return nil, errClosed
	}
	if e.sub == nil {
		e.sub = e.o.Follower.Subscribe("the embeddings in memory", follower{e})
	}
	sub := e.sub
	e.mu.Unlock()
	if err := sub.CatchUp(ctx); err != nil {
		return nil, err
	}
	caches := make([]*cache, len(scopes))
	for i, scope := range scopes {
		caches[i] = e.cache(scope)
	}
	for _, c := range caches {
		select {
		case <-c.loaded:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		c.mu.RLock()
		err := c.err
		c.mu.RUnlock()
		if err != nil {
			return nil, err
		}
	}
	return caches, nil
}

// cache returns the cache of a scope, and starts to read it if it is new. Reading continues if the search that
// started it gives up; the next search uses it.
func (e *Embeddings) cache(scope string) *cache {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.uses++
	c := e.caches[scope]
	if c == nil {
		c = &cache{scope: scope, loaded: make(chan struct{}), reading: true}
		if e.closed {
			c.err = errClosed
			close(c.loaded)
			return c
		}
		e.caches[scope] = c
		e.done.Go(func() { e.read(c) })
	}
	c.used = e.uses
	return c
}

// read reads a cache, and forgets it if that fails.
func (e *Embeddings) read(c *cache) {
	defer close(c.loaded)
	err := c.read(e.ctx, e.o.Rows, maxSize)
	if err == nil {
		e.evict(c)
		return
	}
	c.mu.Lock()
	c.err = err
	c.mu.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.caches[c.scope] == c {
		delete(e.caches, c.scope)
	}
}

// evict forgets the caches that were not searched for the longest time while all are too large, but not one.
func (e *Embeddings) evict(kept *cache) {
	e.mu.Lock()
	defer e.mu.Unlock()
	sizes := map[*cache]int64{}
	total := int64(0)
	for _, c := range e.caches {
		c.mu.RLock()
		sizes[c] = c.size
		c.mu.RUnlock()
		total += sizes[c]
	}
	for len(e.caches) > 1 && (total > maxSize || len(e.caches) > maxCaches) {
		var oldest *cache
		for _, c := range e.caches {
			if c != kept && (oldest == nil || c.used < oldest.used) {
				oldest = c
			}
		}
		total -= sizes[oldest]
		delete(e.caches, oldest.scope)
	}
}

// A follower is the subscriber that keeps the caches in step with the store.
type follower struct{ *Embeddings }

// Topics returns those of documents and their vectors.
func (f follower) Topics() []string { return f.topics }

// Cursor returns how far the caches are.
func (f follower) Cursor(context.Context) (string, error) { return f.cursor, nil }

// Apply reads documents that have changed into the caches that have them. If changes were lost all caches are
// forgotten.
func (f follower) Apply(ctx context.Context, c indexer.Changes) (more bool, err error) {
	if c.Lost {
		f.mu.Lock()
		clear(f.caches)
		f.mu.Unlock()
	}
	var ids []string
	for _, k := range c.Keys {
		if !slices.Contains(ids, k.Name) {
			ids = append(ids, k.Name)
		}
	}
	if err := f.refresh(ctx, ids); err != nil {
		return false, err
	}
	f.cursor = c.Next
	return false, nil
}

// refresh reads some documents into the caches. Caches that are being read do so at the end.
func (e *Embeddings) refresh(ctx context.Context, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	caches := map[string]*cache{}
	e.mu.Lock()
	for scope, c := range e.caches {
		c.mu.Lock()
		if c.reading {
			c.changed = append(c.changed, ids...)
		} else {
			caches[scope] = c
		}
		c.mu.Unlock()
	}
	e.mu.Unlock()
	if len(caches) == 0 {
		return nil
	}
	if err := refresh(ctx, e.o.Rows, caches, ids); err != nil {
		return err
	}
	e.evict(nil)
	return nil
}

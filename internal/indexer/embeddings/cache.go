package embeddings

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// A cache has the vectors of one scope in memory.
type cache struct {
	scope  string
	used   int64         // when it was searched last; guarded by Embeddings.mu
	loaded chan struct{} // closed when it was read, or cannot be

	mu      sync.RWMutex
	err     error
	docs    []*document
	at      map[string]int // the position of a document in docs
	size    int64
	changed []string // documents that changed while it was read
	reading bool
}

// A document has the parts of one document.
type document struct {
	id               string
	version          int64
	path, category   string
	updated, expires time.Time
	parts            []vector
}

// A vector is that of the n-th part, as [unpack] returns it.
type vector struct {
	n       int
	scale   float32
	numbers []byte
}

const perVector, perDocument = 64, 256 // bytes, beside numbers and texts

func (d *document) size() int64 {
	n := int64(perDocument + len(d.path) + len(d.category))
	for _, v := range d.parts {
		n += int64(perVector + len(v.numbers))
	}
	return n
}

// add adds a part. Those of one document follow each other.
func (c *cache) add(p Part) {
	at, found := c.at[p.Document]
	if !found || c.docs[at].version != p.Version {
		c.remove(p.Document)
		d := &document{
			id: p.Document, version: p.Version, path: p.Path, category: p.Category, updated: p.Updated,
			expires: p.Expires,
		}
		at = len(c.docs)
		c.docs, c.at[d.id] = append(c.docs, d), at
		c.size += d.size()
	}
	numbers, scale := unpack(p.Vector)
	d := c.docs[at]
	d.parts = append(d.parts, vector{p.N, scale, numbers})
	c.size += int64(perVector + len(numbers))
}

func (c *cache) remove(id string) {
	at, found := c.at[id]
	if !found {
		return
	}
	c.size -= c.docs[at].size()
	last := len(c.docs) - 1
	c.docs[at] = c.docs[last]
	c.at[c.docs[at].id] = at
	c.docs[last] = nil
	c.docs = c.docs[:last]
	delete(c.at, id)
}

// read reads all parts of the scope, up to a limit of bytes, and then the documents that have changed since.
func (c *cache) read(ctx context.Context, rows Rows, limit int64) error {
	all := &cache{at: map[string]int{}}
	err := rows.OfScope(ctx, c.scope, func(p Part) bool {
		all.add(p)
		return all.size < limit && ctx.Err() == nil
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.docs, c.at, c.size = all.docs, all.at, all.size
	c.mu.Unlock()
	for {
		c.mu.Lock()
		changed := c.changed
		c.changed = nil
		c.reading = len(changed) > 0
		c.mu.Unlock()
		if len(changed) == 0 {
			return nil
		}
		if err := refresh(ctx, rows, map[string]*cache{c.scope: c}, changed); err != nil {
			return err
		}
	}
}

// refresh reads some documents again, for the caches of their scopes.
func refresh(ctx context.Context, rows Rows, caches map[string]*cache, ids []string) error {
	scopes := slices.Collect(maps.Keys(caches))
	for some := range slices.Chunk(ids, maxDocuments) {
		parts, err := rows.OfDocuments(ctx, some, scopes)
		if err != nil {
			return err
		}
		for _, c := range caches {
			c.mu.Lock()
			for _, id := range some {
				c.remove(id)
			}
			for _, p := range parts {
				if p.Scope == c.scope && c.size < maxSize {
					c.add(p)
				}
			}
			c.mu.Unlock()
		}
	}
	return nil
}

package embeddings

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/memory/indexer"
)

// A cache has the vectors of one scope in memory.
type cache struct {
	scope  string
	busy   chan struct{} // has an element while the cache is brought up to date
	cursor string        // how far in the feed it is

	mu   sync.RWMutex
	docs []*document
	at   map[string]int // the position of a document in docs
	size int64
}

func newCache(scope string) *cache {
	return &cache{scope: scope, busy: make(chan struct{}, 1), at: map[string]int{}}
}

// A document has the parts of one document.
type document struct {
	id               string
	version          int64
	path, category   string
	updated, expires time.Time
	parts            []vector
}

// A vector is the vector of the n-th part, as [unpack] returns it.
type vector struct {
	n       int
	scale   float32
	numbers []byte
}

const perVector, perDocument = 64, 256 // bytes, beside numbers and texts

// weight returns the size of the cache for the limit of all.
func (c *cache) weight() int64 {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return min(max(c.size, minWeight), maxSize)
}

func (d *document) size() int64 {
	n := int64(perDocument + len(d.path) + len(d.category))
	for _, v := range d.parts {
		n += int64(perVector + len(v.numbers))
	}
	return n
}

// add adds a part. The parts of one document follow each other.
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

// maxBatches is the number of batches of changes that take longer than reading everything.
const maxBatches = 20

// update takes in the changes since the last call. The caller holds busy.
func (c *cache) update(ctx context.Context, rows Rows, feed indexer.Feed) error {
	documents, vectors := rows.Topics()
	for n := 0; ; n++ {
		if n == maxBatches {
			c.cursor = ""
		}
		var ids []string
		next, lost, more, err := feed.Follow(ctx, c.cursor, maxDocuments, []string{documents, vectors},
			func(_, id string) { ids = append(ids, id) })
		switch {
		case err != nil:
		case lost:
			err = c.read(ctx, rows)
		case len(ids) > 0:
			err = c.refresh(ctx, rows, ids)
		}
		if err != nil {
			return err
		}
		moved := next != c.cursor
		c.cursor = next
		if !more || !moved {
			return nil
		}
	}
}

// read reads all parts of the scope, the latest documents first, as far as there is room.
func (c *cache) read(ctx context.Context, rows Rows) error {
	all := newCache(c.scope)
	err := rows.OfScope(ctx, c.scope, func(p Part) bool {
		all.add(p)
		return all.size < maxSize && ctx.Err() == nil
	})
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.docs, c.at, c.size = all.docs, all.at, all.size
	return nil
}

// refresh reads some documents again.
func (c *cache) refresh(ctx context.Context, rows Rows, ids []string) error {
	parts, err := rows.OfDocuments(ctx, ids, c.scope)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range ids {
		c.remove(id)
	}
	for _, p := range parts {
		if c.size < maxSize {
			c.add(p)
		}
	}
	return nil
}

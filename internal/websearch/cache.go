package websearch

import (
	"container/list"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/tools/web"
)

const (
	mostKept  = 512     // answers
	mostBytes = 4 << 20 // of all answers
)

// cache keeps answers for a while, those asked for last. Its keys are exact.
type cache struct {
	age   time.Duration
	mu    sync.Mutex
	byKey map[string]*list.Element
	order *list.List // of *kept, asked for last in front
	bytes int
}

type kept struct {
	key   string
	hits  web.Hits
	at    time.Time
	bytes int
}

func newCache(age time.Duration) *cache {
	return &cache{age: age, byKey: make(map[string]*list.Element), order: list.New()}
}

// get returns an answer that is still good, with its age.
func (c *cache) get(key string) (web.Hits, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return web.Hits{}, false
	}
	k, _ := e.Value.(*kept)
	age := time.Since(k.at)
	if age >= c.age {
		c.drop(e)
		return web.Hits{}, false
	}
	c.order.MoveToFront(e)
	hits := cloned(k.hits)
	hits.Age = age
	return hits, true
}

// put keeps an answer in the place of the one before, if any are kept.
func (c *cache) put(key string, hits web.Hits) {
	if c.age <= 0 {
		return
	}
	k := &kept{key: key, hits: cloned(hits), at: time.Now(), bytes: len(key)}
	for _, h := range hits.Hits {
		k.bytes += len(h.Title) + len(h.URL) + len(h.Snippet) + len(h.Date)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	c.byKey[key] = c.order.PushFront(k)
	c.bytes += k.bytes
	for c.order.Len() > mostKept || c.bytes > mostBytes {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	k, _ := c.order.Remove(e).(*kept)
	delete(c.byKey, k.key)
	c.bytes -= k.bytes
}

func cloned(h web.Hits) web.Hits {
	h.Hits, h.Notes = slices.Clone(h.Hits), slices.Clone(h.Notes)
	return h
}

package websearch

import (
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

const (
	mostKept  = 512     // answers
	mostBytes = 4 << 20 // of all answers
)

// cache keeps answers for a while, those asked for last. Its keys are exact.
type cache struct {
	age   time.Duration
	byKey *lru.Cache[string, kept]
}

type kept struct {
	hits  web.Hits
	at    time.Time
	bytes int64
}

// newCache counts a small answer as if it had its full share.
func newCache(age time.Duration) *cache {
	return &cache{age, lru.New[string](mostBytes, func(k kept) int64 { return max(k.bytes, mostBytes/mostKept) })}
}

// get returns an answer that is still good, with its age.
func (c *cache) get(key string) (web.Hits, bool) {
	k, ok := c.byKey.Get(key)
	age := time.Since(k.at)
	if !ok || age >= c.age {
		return web.Hits{}, false
	}
	hits := cloned(k.hits)
	hits.Age = age
	return hits, true
}

// put keeps an answer in the place of the one before, if any are kept.
func (c *cache) put(key string, hits web.Hits) {
	if c.age <= 0 {
		return
	}
	k := kept{hits: cloned(hits), at: time.Now(), bytes: int64(len(key))}
	for _, h := range hits.Hits {
		k.bytes += int64(len(h.Title) + len(h.URL) + len(h.Snippet) + len(h.Date))
	}
	c.byKey.Put(key, k)
}

func cloned(h web.Hits) web.Hits {
	h.Hits, h.Notes = slices.Clone(h.Hits), slices.Clone(h.Notes)
	return h
}

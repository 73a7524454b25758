package server

import (
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Cache has the results to keep, so that equal calls of a caller get them again.
type Cache struct {
	For   map[string]time.Duration // by the name of a tool; others are not kept
	Bytes int64                    // of all results together
}

// A resultCache has results of calls that only read. A call that may change something drops all
// results of the same agent and user, of all tools: a change is not known to concern one group
// only.
type resultCache struct {
	ages    map[string]time.Duration
	results *lru.Cache[cacheKey, cachedResult]

	mu      sync.Mutex
	clock   int64            // counts changes
	changed map[string]int64 // by principal, the last change
	oldest  int64            // of unlisted principals
}

// A cacheKey is an equal call: of the same caller, apart from its session, with nothing changed since, and with or
// without structured content.
type cacheKey struct {
	call    digest
	changes int64
}

type cachedResult struct {
	result tool.Result // scrubbed and whole
	at     time.Time
	size   int64
}

// maxChanged bounds the principals whose changes are known.
const maxChanged = 10_000

func newResultCache(c Cache) *resultCache {
	return &resultCache{
		ages: maps.Clone(c.For), changed: make(map[string]int64),
		results: lru.New[cacheKey](c.Bytes, func(r cachedResult) int64 { return r.size }),
	}
}

// key returns the key of a call that reads. ok is false if its result is not kept.
func (r *resultCache) key(c *call, a attempt) (_ cacheKey, ok bool) {
	if r.ages[a.tool.Spec.Name] <= 0 || a.risk != tool.Reads || a.tool.Spec.Composes || c.Input != nil {
		return cacheKey{}, false
	}
	who := c.Caller
	who.Session, who.Parent = "", ""
	caller, err := json.Marshal([]any{who, c.Narrow, c.Within, c.hasData(), c.Apps})
	if err != nil {
		return cacheKey{}, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	changes, known := r.changed[c.Caller.Principal()]
	if !known {
		changes = r.oldest
	}
	return cacheKey{sum(a.args.String(), caller), changes}, true
}

// drop makes the kept results of a principal unusable. It is called before and after each
// change: a result in between may show the state before it.
func (r *resultCache) drop(principal string) {
	if len(r.ages) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	if len(r.changed) >= maxChanged {
		clear(r.changed)
		r.oldest = r.clock
	}
	r.changed[principal] = r.clock
}

// get returns a result and its age.
func (r *resultCache) get(key cacheKey, name string, now time.Time) (tool.Result, time.Duration, bool) {
	kept, ok := r.results.Get(key)
	age := now.Sub(kept.at)
	if !ok || age >= r.ages[name] {
		return tool.Result{}, 0, false
	}
	return kept.result, age, true
}

// put keeps a scrubbed result of a call that began at a time.
func (r *resultCache) put(key cacheKey, res tool.Result, began time.Time) {
	if res.Failed || res.Task != nil {
		return
	}
	data, err := json.Marshal([]any{res.Data, res.View})
	if err != nil {
		return
	}
	const overhead = 500 // bytes
	r.results.Put(key, cachedResult{res, began, int64(res.Size()+len(data)) + overhead})
}

// noteAge adds the age of a result. Scripts get the result alone, because they compute with it.
func (c *call) noteAge(res tool.Result, age time.Duration) tool.Result {
	if c.Nested {
		return res
	}
	return res.Add(tool.Part{Text: fmt.Sprintf("[from the result cache, %s old]", age.Round(time.Second)),
		For: tool.ForModel})
}

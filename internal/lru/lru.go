// Package lru is a cache that evicts the least recently used values when all
// together are too large.
//
// It knows the size of each value and the limit. It knows neither the meaning, the expiry nor
// the owners of values: callers put that into the value or the key.
//
// Begin with [New].
package lru

import (
	"container/list"
	"sync"
)

// A Cache may be used concurrently.
type Cache[K comparable, V any] struct {
	limit int64
	size  func(V) int64

	mu    sync.Mutex
	byKey map[K]*list.Element
	order list.List // of *entry, the last used first
	total int64     // size
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns an empty cache for values with sizes of at most limit together.
func New[K comparable, V any](limit int64, size func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, size: size, byKey: make(map[K]*list.Element)}
}

// Get returns the value of a key, and counts as its last use.
func (c *Cache[K, V]) Get(key K) (V, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, ok := c.byKey[key]
	if !ok {
		var none V
		return none, false
	}
	c.order.MoveToFront(at)
	return at.Value.(*entry[K, V]).value, true
}

// Put sets the value of a key. A value larger than the limit is not kept, and
// removes the one before.
func (c *Cache[K, V]) Put(key K, value V) {
	size := c.size(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.remove(at)
	}
	if size > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	for c.total += size; c.total > c.limit; {
		c.remove(c.order.Back())
	}
}

func (c *Cache[K, V]) remove(at *list.Element) {
	e := c.order.Remove(at).(*entry[K, V])
	delete(c.byKey, e.key)
	c.total -= e.size
}

// Package lru keeps values for as long as there is room for them, and lets go of
// those first that nobody has asked for the longest.
//
// It knows how much each value takes and how much all of them may. It does not
// know what they are, when they are too old, or whom they belong to: whoever
// keeps something puts that into the value or the key.
//
// Begin with [New].
package lru

import (
	"container/list"
	"sync"
)

// A Cache may be used by many goroutines.
type Cache[K comparable, V any] struct {
	most int64
	size func(V) int64

	mu    sync.Mutex
	byKey map[K]*list.Element
	order list.List // of *entry, the last used first
	held  int64
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int64
}

// New returns an empty cache for values whose sizes have a sum of at most most.
func New[K comparable, V any](most int64, size func(V) int64) *Cache[K, V] {
	return &Cache[K, V]{most: most, size: size, byKey: make(map[K]*list.Element)}
}

// Get returns what is kept under a key, and counts as its last use.
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

// Put keeps a value in the place of the one before. What has no room next to
// nothing is not kept, and neither is what was there before.
func (c *Cache[K, V]) Put(key K, value V) {
	size := c.size(value)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, ok := c.byKey[key]; ok {
		c.remove(at)
	}
	if size > c.most {
		return
	}
	c.byKey[key] = c.order.PushFront(&entry[K, V]{key, value, size})
	for c.held += size; c.held > c.most; {
		c.remove(c.order.Back())
	}
}

func (c *Cache[K, V]) remove(at *list.Element) {
	e := c.order.Remove(at).(*entry[K, V])
	delete(c.byKey, e.key)
	c.held -= e.size
}

package websearch

import (
	"sync"
	"time"
)

// rests remembers which engines are not asked for a while, and why.
type rests struct {
	mu    sync.Mutex
	until map[string]rest
}

type rest struct {
	at  time.Time
	why failure
}

func newRests() *rests { return &rests{until: make(map[string]rest)} }

// of says why an engine rests, and how long still; nil when it does not.
func (r *rests) of(name string) *failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	one, ok := r.until[name]
	if !ok {
		return nil
	}
	left := time.Until(one.at)
	if left <= 0 {
		delete(r.until, name)
		return nil
	}
	why := one.why
	why.left = left
	return &why
}

// after remembers how asking an engine went. An answer ends its rest; a failure
// that is not the engine's does not touch it.
func (r *rests) after(name string, why *failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case why == nil:
		delete(r.until, name)
	case why.left > 0:
		r.until[name] = rest{time.Now().Add(why.left), *why}
	}
}

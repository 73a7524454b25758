package tokens

import (
	"sync"
	"time"
)

// cacheAge is the time that a token is cached: a read of the table takes longer
// than the rest of a check. Revoke waits a little longer than that after the
// change of the table. So when it returns no process on any machine accepts the
// token. The clocks of machines need not agree, but must have the same speed.
const (
	cacheAge   = 20 * time.Millisecond
	revokeWait = cacheAge + 5*time.Millisecond
)

// maxCached is the maximum number of cached tokens.
const maxCached = 1000

// A cache has tokens that were valid a moment ago. Others are not cached.
type cache struct {
	age time.Duration

	mu     sync.Mutex
	tokens map[string]cached // by hash
}

// A cached is a valid token, and the time before it was read.
type cached struct {
	row Token
	at  time.Time
}

// get returns a cached token.
func (r *cache) get(hash string, now time.Time) (Token, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, known := r.tokens[hash]
	if !known || now.Sub(seen.at) >= r.age {
		return Token{}, false
	}
	return seen.row.clone(), true
}

// put caches a valid token. asked is the time before it was read.
func (r *cache) put(hash string, row Token, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tokens) >= maxCached {
		clear(r.tokens)
	}
	r.tokens[hash] = cached{row.clone(), asked}
}

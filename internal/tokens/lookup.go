package tokens

import (
	"context"
	"sync"
	"time"
)

// cacheAge is how old an answer of the table may be: under load, a question for
// every request would cost more than everything else about a token. Revoke waits
// as long, and a little longer, after the table has been told. So when it returns
// no process, on whatever machine, believes the token any more; clocks need not
// agree for that, they only have to go at the same pace.
const (
	cacheAge   = 20 * time.Millisecond
	revokeWait = cacheAge + 5*time.Millisecond
)

// maxCached bounds what is remembered.
const maxCached = 1000

// cache are tokens that counted a moment ago. What does not count, or is not
// there, is asked about each time.
type cache struct {
	age time.Duration

	mu     sync.Mutex
	tokens map[string]cached // by hash
}

// A cached is a token that counts, and when the table was asked about it.
type cached struct {
	row Token
	at  time.Time
}

// get returns a token that counted a moment ago.
func (r *cache) get(hash string, now time.Time) (Token, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, known := r.tokens[hash]
	if !known || now.Sub(seen.at) >= r.age {
		return Token{}, false
	}
	return seen.row.clone(), true
}

// put remembers a token that counts. asked is from before the table was asked.
func (r *cache) put(hash string, row Token, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.tokens) >= maxCached {
		clear(r.tokens)
	}
	r.tokens[hash] = cached{row.clone(), asked}
}

// pause waits until no answer from before is believed any more.
func (r *cache) pause(ctx context.Context) error {
	wait := time.NewTimer(revokeWait)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

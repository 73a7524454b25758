package embed

import (
	"errors"
	"math/rand/v2"
	"sync"
	"time"
)

// ErrDown means that the endpoint has failed lately and was not asked.
var ErrDown = errors.New("the embeddings endpoint has failed lately, and is asked again soon")

const (
	firstRest   = 2 * time.Second
	longestRest = time.Minute
)

// A breaker keeps those who are in a hurry from asking somebody who does not
// answer. After a failure there is a rest, which grows with further ones; then
// one is let through, and the others when that one had an answer.
type breaker struct {
	mu    sync.Mutex
	rest  time.Duration // 0: all is well
	until time.Time
}

// try reports whether to ask now.
func (b *breaker) try(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rest == 0 {
		return true
	}
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(b.rest) // the others wait for this one
	return true
}

func (b *breaker) worked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = 0
}

func (b *breaker) failed(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rest = min(max(2*b.rest, firstRest), longestRest)
	if refused := (*refusal)(nil); errors.As(err, &refused) {
		b.rest = max(b.rest, refused.after)
	}
	b.until = now.Add(jittered(b.rest))
}

// jittered is about d, so that many who were refused do not come back at once.
func jittered(d time.Duration) time.Duration {
	return d - d/8 + rand.N(d/4+1)
}

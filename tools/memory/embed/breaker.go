package embed

import (
	"errors"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
)

// ErrDown means that the endpoint has failed recently and no request was sent.
var ErrDown = errors.New("the embeddings endpoint has failed recently and is retried soon")

const (
	firstBreak   = 2 * time.Second
	longestBreak = time.Minute
)

// A breaker stops requests to an endpoint that fails. After a failure no request is sent for a
// while; the time grows with further failures. Then one request is sent, and the others follow
// when that one has succeeded.
type breaker struct {
	mu    sync.Mutex
	pause time.Duration // 0: the last request has succeeded
	until time.Time     // when the next one may be sent
}

// try reports whether a request may be sent now.
func (b *breaker) try(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pause == 0 {
		return true
	}
	if now.Before(b.until) {
		return false
	}
	b.until = now.Add(b.pause) // other requests wait for this one
	return true
}

func (b *breaker) worked() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = 0
}

func (b *breaker) failed(now time.Time, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pause = min(max(2*b.pause, firstBreak), longestBreak)
	b.pause = max(b.pause, min(api.After(err), longestBreak))
	b.until = now.Add(api.Jittered(b.pause))
}

package tokens

import (
	"context"
	"sync"
	"time"
)

// lookEvery is how old an answer of the table may be: under load, a question for
// every request would cost more than everything else about a token. Revoke waits
// as long, and a little longer, after the table has been told. So when it returns
// no process, on whatever machine, believes the token any more; clocks need not
// agree for that, they only have to go at the same pace.
const (
	lookEvery  = 20 * time.Millisecond
	revokeWait = lookEvery + 5*time.Millisecond
)

// mostRecent bounds what is remembered.
const mostRecent = 1000

// recent are tokens that counted a moment ago. What does not count, or is not
// there, is asked about each time.
type recent struct {
	age time.Duration

	mu     sync.Mutex
	looked map[string]look // by hash
}

// A look is a token that counts, and when the table was asked about it.
type look struct {
	row Token
	at  time.Time
}

// get returns a token that counted a moment ago.
func (r *recent) get(hash string, now time.Time) (Token, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen, known := r.looked[hash]
	if !known || now.Sub(seen.at) >= r.age {
		return Token{}, false
	}
	return seen.row.clone(), true
}

// put remembers a token that counts. asked is from before the table was asked.
func (r *recent) put(hash string, row Token, asked time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.looked) >= mostRecent {
		clear(r.looked)
	}
	r.looked[hash] = look{row.clone(), asked}
}

// pause waits until no answer from before is believed any more.
func (r *recent) pause(ctx context.Context) error {
	wait := time.NewTimer(revokeWait)
	defer wait.Stop()
	select {
	case <-wait.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

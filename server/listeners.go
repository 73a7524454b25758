package server

import "sync"

// listeners counts the open subscriptions of each caller. A subscription holds a
// connection and its goroutines for as long as its client wants, and rate limits do
// not apply to it.
type listeners struct {
	mu   sync.Mutex
	open map[string]int
}

// maxListening is how many subscriptions one caller may have open. A client
// needs one; a token may be used by several.
const maxListening = 32

func newListeners() *listeners { return &listeners{open: make(map[string]int)} }

// enter counts one more, or refuses it.
func (l *listeners) enter(who string) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who] >= maxListening {
		return nil, false
	}
	l.open[who]++
	return func() { l.leave(who) }, true
}

func (l *listeners) leave(who string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[who]--; l.open[who] == 0 {
		delete(l.open, who)
	}
}

// owner returns the key by which subscriptions are counted: the identity, or else
// the one session.
func (a Access) owner() string {
	if a.Identity != "" {
		return a.Identity
	}
	return a.Caller.Session
}

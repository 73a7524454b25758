package server

import (
	"strings"
	"sync"
	"time"
)

// rates are token buckets, one for each session: Burst calls at once, PerMinute
// in the long run.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

type bucket struct {
	tokens float64
	filled time.Time
}

// maxBuckets bounds the memory that strangers' sessions can take up. A bucket
// that is full again says nothing and is dropped.
const maxBuckets = 10_000

func newRates() *rates { return &rates{buckets: make(map[string]*bucket)} }

// identityShare is how many times the calls of one session an identity may make
// in all of its sessions: sessions cost nothing to begin.
const identityShare = 10

// takeAll takes one call from the buckets of the session and of whoever has it.
func (r *rates) takeAll(a Access, l Limits, now time.Time) (wait time.Duration) {
	if a.Identity != "" {
		all := l
		all.PerMinute, all.Burst = identityShare*l.PerMinute, identityShare*l.Burst
		if wait := r.take(a.Identity, all, now); wait > 0 {
			return wait
		}
	}
	return r.take(a.Caller.Session, l, now)
}

// lane is where the calls of a session wait. Names that a client makes up for
// its conversations share one: otherwise more names would be more turns.
func (a Access) lane() string {
	if a.Identity != "" && strings.HasPrefix(a.Caller.Session, a.Identity+"/") {
		return a.Identity
	}
	return a.Caller.Session
}

// take takes one call from session's bucket, or says how long to wait.
func (r *rates) take(session string, l Limits, now time.Time) (wait time.Duration) {
	perSecond, burst := float64(l.PerMinute)/60, float64(l.Burst)
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets[session]
	if !ok {
		r.makeRoom(perSecond, burst, now)
		b = &bucket{tokens: burst, filled: now}
		r.buckets[session] = b
	}
	if passed := now.Sub(b.filled).Seconds(); passed > 0 {
		b.tokens = min(burst, b.tokens+passed*perSecond)
		b.filled = now
	}
	if b.tokens < 1 {
		return time.Duration((1 - b.tokens) / perSecond * float64(time.Second))
	}
	b.tokens--
	return 0
}

func (r *rates) makeRoom(perSecond, burst float64, now time.Time) {
	if len(r.buckets) < maxBuckets {
		return
	}
	for session, b := range r.buckets {
		if b.tokens+now.Sub(b.filled).Seconds()*perSecond >= burst {
			delete(r.buckets, session)
		}
	}
	for session := range r.buckets { // all in use: the map's order is random enough
		if len(r.buckets) < maxBuckets {
			return
		}
		delete(r.buckets, session)
	}
}

// left is how many calls session may make at once.
func (r *rates) left(session string, l Limits, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets[session]
	if !ok {
		return l.Burst
	}
	return int(min(float64(l.Burst), b.tokens+now.Sub(b.filled).Seconds()*float64(l.PerMinute)/60))
}

package server

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"
)

// rates are token buckets, one for each session: Burst calls at once, PerMinute
// in the long run.
type rates struct {
	mu      sync.Mutex
	buckets map[string]*bucket
	resume  time.Time // when identities are counted by all processes together again
}

type bucket struct {
	tokens float64
	filled time.Time
}

// maxBuckets bounds the memory for sessions. A bucket that is full again can be
// dropped.
const maxBuckets = 10_000

func newRates() *rates { return &rates{buckets: make(map[string]*bucket)} }

// identityShare is how many times the calls of one session an identity may make
// in all of its sessions: sessions cost nothing to begin.
const identityShare = 10

// takeAll takes one call from the buckets of the session and of its identity. The
// bucket of the session is in this process and is checked first.
func (s *Server) takeAll(ctx context.Context, a Access, l Limits, now time.Time) (wait time.Duration) {
	if wait := s.rates.take(a.Caller.Session, l, now); wait > 0 || a.Identity == "" {
		return wait
	}
	all := l
	all.PerMinute, all.Burst = identityShare*l.PerMinute, identityShare*l.Burst
	if s.Meter != nil && s.rates.shared(now) {
		ctx, cancel := context.WithTimeout(ctx, meterPatience)
		defer cancel()
		wait, err := s.Meter(ctx, a.Identity, all.PerMinute, all.Burst)
		if err == nil {
			return wait
		}
		if !errors.Is(err, context.Canceled) { // or only the caller has gone
			s.rates.alone(now.Add(meterPause))
			s.log.Warn("calls are counted by this server alone for a while: the shared count cannot be read", "err", err)
		}
	}
	return s.rates.take("all of "+a.Identity, all, now) // a session may have the name of its identity
}

// Rate limits fail open: how long a call waits for the shared count before it is
// counted in this process, and how long all calls are counted here after that.
const (
	meterPatience = time.Second
	meterPause    = 5 * time.Second
)

// shared reports whether identities are counted by all processes together now.
func (r *rates) shared(now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !now.Before(r.resume)
}

// alone makes this process count by itself until a moment.
func (r *rates) alone(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resume = until
}

// queueKey names the line in which the calls of a session wait. Names that a client
// invents for its sessions share one line: otherwise more names would get more turns.
func (a Access) queueKey() string {
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

package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/slots"
)

// A Rate allows Burst calls at once, and Times per period in the long run.
type Rate struct {
	Times int
	Per   time.Duration
	Burst int
}

func (r Rate) perSecond() float64 { return float64(r.Times) / r.Per.Seconds() }

// rates are token buckets, one for each session and each other key with a rate.
type rates struct {
	mu      sync.Mutex
	buckets *lru.Cache[string, *bucket]
	resume  time.Time // when identities are counted by all processes together again
}

type bucket struct {
	tokens float64
	filled time.Time
}

// maxSessions bounds the memory for sessions. The least recently used ones are forgotten.
const maxSessions = 10_000

func newRates() *rates {
	return &rates{buckets: lru.New[string](maxSessions, func(*bucket) int64 { return 1 })}
}

// hourlyRegain is the number of hours in which the bucket of an hour would regain its calls. The store keeps
// the bucket that long.
const hourlyRegain = 20

// identityShare is how many times the calls of one session an identity may make
// in all of its sessions: sessions cost nothing to begin.
const identityShare = 10

// takeAll takes one call from the buckets of the session and of its identity, and from the
// budget of the principal. The bucket of the session is in this process and is checked first.
// It returns the time to wait, and the limit.
func (s *Server) takeAll(ctx context.Context, a Access, l Limits, now time.Time) (wait time.Duration, limit string) {
	session := Rate{Times: l.PerMinute, Per: time.Minute, Burst: l.Burst}
	perMinute := func() string { return fmt.Sprintf("more than %d calls a minute", l.PerMinute) }
	if wait := s.rates.take(a.Caller.Session, session, now); wait > 0 {
		return wait, perMinute()
	}
	if a.Identity != "" {
		all, name := session, a.Identity
		if a.Caller.Session == a.Identity { // a caller without sessions may use any replica: count its calls for all
			name = "one session of " + a.Identity
		} else {
			all.Times, all.Burst = identityShare*l.PerMinute, identityShare*l.Burst
		}
		// A session may have the name of its identity.
		if wait := s.takeShared(ctx, name, "all of "+a.Identity, all, now); wait > 0 {
			return wait, perMinute()
		}
	}
	if l.PerHour > 0 {
		// Each hour of the clock has its bucket. In that hour it regains nearly nothing.
		hour := now.Truncate(time.Hour)
		key := fmt.Sprintf("hour %d of %s", hour.Unix()/3600, a.Caller.Principal())
		budget := Rate{Times: l.PerHour, Per: hourlyRegain * time.Hour, Burst: l.PerHour - l.PerHour/hourlyRegain}
		if s.takeShared(ctx, key, key, budget, now) > 0 {
			return hour.Add(time.Hour).Sub(now), fmt.Sprintf("the budget of %d calls an hour is used up", l.PerHour)
		}
	}
	return 0, ""
}

// takeShared takes one call from a rate that all processes share, or from the one of this
// process if the shared one cannot be read.
func (s *Server) takeShared(ctx context.Context, key, here string, r Rate, now time.Time) time.Duration {
	if s.Meter != nil && s.rates.shared(now) {
		patient, cancel := context.WithTimeout(ctx, meterPatience)
		defer cancel()
		wait, err := s.Meter(patient, key, r)
		if err == nil {
			return wait
		}
		if ctx.Err() == nil { // otherwise only the caller has ended
			s.rates.countLocally(now.Add(meterPause))
			s.log.Warn("calls are counted by this server alone for a while: the shared count cannot be read", "err",
				err)
		}
	}
	return s.rates.take(here, r, now)
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

// countLocally makes this process count identities by itself until the given time.
func (r *rates) countLocally(until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.resume = until
}

// queueKey names the queue of a session's calls, and the account of their share. All names that
// a client invents for its sessions share one queue: otherwise more names would get more turns.
func (a Access) queueKey() slots.For {
	line := a.Caller.Session
	if a.Identity != "" && strings.HasPrefix(line, a.Identity+"/") {
		line = a.Identity
	}
	return slots.For{Account: a.Caller.Account(), Line: line}
}

// slots returns the limits of the queue of calls that wait for a slot.
func (l Limits) slots() slots.Limits {
	return slots.Limits{Total: l.TotalRunning, Running: l.Running, Queued: l.Queued, Idle: l.Idle}
}

// take takes one token from a bucket, or returns how long to wait.
func (r *rates) take(session string, of Rate, now time.Time) (wait time.Duration) {
	perSecond, burst := of.perSecond(), float64(of.Burst)
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets.Get(session)
	if !ok {
		b = &bucket{tokens: burst, filled: now}
		r.buckets.Put(session, b)
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

// left returns how many calls session may make at once.
func (r *rates) left(session string, l Limits, now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	b, ok := r.buckets.Get(session)
	if !ok {
		return l.Burst
	}
	return int(min(float64(l.Burst), b.tokens+now.Sub(b.filled).Seconds()*float64(l.PerMinute)/60))
}

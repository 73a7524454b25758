package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/lru"
	"github.com/mcp-tools/mcp-tools/internal/tool"
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

// maxSessions bounds the memory for sessions: those that made no call for longest
// are forgotten.
const maxSessions = 10_000

func newRates() *rates {
	return &rates{buckets: lru.New[string](maxSessions, func(*bucket) int64 { return 1 })}
}

// hourlyRegain is the hours in which the bucket of an hour would regain its calls: how long the store keeps it.
const hourlyRegain = 20

// identityShare is how many times the calls of one session an identity may make
// in all of its sessions: sessions cost nothing to begin.
const identityShare = 10

// takeAll takes one call from the buckets of the session and of its identity, and from the
// budget of the principal. The bucket of the session is in this process and is checked
// first. It returns how long to wait, and for what.
func (s *Server) takeAll(ctx context.Context, a Access, l Limits, now time.Time) (wait time.Duration, limit string) {
	session := Rate{Times: l.PerMinute, Per: time.Minute, Burst: l.Burst}
	limit = fmt.Sprintf("more than %d calls a minute", l.PerMinute)
	if wait := s.rates.take(a.Caller.Session, session, now); wait > 0 {
		return wait, limit
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
			return wait, limit
		}
	}
	if l.PerHour > 0 {
		// Each hour of the clock has its bucket, which regains nearly nothing in that hour.
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
		ctx, cancel := context.WithTimeout(ctx, meterPatience)
		defer cancel()
		wait, err := s.Meter(ctx, key, r)
		if err == nil {
			return wait
		}
		if !errors.Is(err, context.Canceled) { // Canceled: only the caller has disconnected
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

// queueKey names the line in which the calls of a session wait. Names that a client
// invents for its sessions share one line: otherwise more names would get more turns.
func (a Access) queueKey() string {
	if a.Identity != "" && strings.HasPrefix(a.Caller.Session, a.Identity+"/") {
		return a.Identity
	}
	return a.Caller.Session
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

// A queue bounds how many calls run at once, in all and for each session. Calls
// over the limit wait in the line of their session. Lines take turns, so that a
// session with a long line does not keep the others from running.
type queue struct {
	mu       sync.Mutex
	limits   Limits
	running  int
	waiting  int
	lines    map[string]*line
	turn     []*line // lines with waiting calls, the next one first
	observer Observer
}

// A line holds the calls of one session.
type line struct {
	session string
	running int
	waiting []chan struct{}
}

func newQueue(l Limits, o Observer) *queue {
	return &queue{limits: l, lines: make(map[string]*line), observer: o}
}

// resize changes the limits. Calls that are running are not stopped.
func (q *queue) resize(l Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = l
	q.admit()
}

// acquire waits for a slot. release returns the slot and must be called once.
func (q *queue) acquire(ctx context.Context, session string) (release func(), err error) {
	q.mu.Lock()
	l, ok := q.lines[session]
	if !ok {
		l = &line{session: session}
		q.lines[session] = l
	}
	if len(l.waiting) == 0 && l.running < q.limits.Running && q.running < q.limits.TotalRunning {
		q.start(l)
		q.mu.Unlock()
		return func() { q.release(l) }, nil
	}
	if len(l.waiting) >= q.limits.Queued {
		running, waiting := l.running, len(l.waiting)
		q.mu.Unlock()
		q.observer.Limited("queue")
		return nil, tool.Errorf(tool.Busy, "%d calls are running and %d are waiting", running, waiting).
			Try("wait for some of them to finish, then call again")
	}
	ready := make(chan struct{})
	l.waiting = append(l.waiting, ready)
	if len(l.waiting) == 1 {
		q.turn = append(q.turn, l)
	}
	q.waiting++
	q.observer.Queued(q.waiting)
	q.mu.Unlock()
	select {
	case <-ready:
		return func() { q.release(l) }, nil
	case <-ctx.Done():
		q.abandon(l, ready)
		return nil, context.Cause(ctx)
	}
}

func (q *queue) start(l *line) {
	l.running++
	q.running++
	q.observer.Running(q.running)
}

func (q *queue) release(l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.running--
	q.running--
	q.observer.Running(q.running)
	q.forget(l)
	q.admit()
}

// abandon removes a waiting call from its line, or returns its slot if it was
// admitted at the same moment.
func (q *queue) abandon(l *line, ready chan struct{}) {
	q.mu.Lock()
	i := slices.Index(l.waiting, ready)
	if i < 0 {
		q.mu.Unlock()
		q.release(l)
		return
	}
	defer q.mu.Unlock()
	l.waiting = slices.Delete(l.waiting, i, i+1)
	q.waiting--
	q.observer.Queued(q.waiting)
	if len(l.waiting) == 0 {
		q.turn = slices.DeleteFunc(q.turn, func(other *line) bool { return other == l })
	}
	q.forget(l)
}

// admit starts as many waiting calls as the limits allow, one from each line in
// turn.
func (q *queue) admit() {
	for skipped := 0; q.running < q.limits.TotalRunning && skipped < len(q.turn); {
		l := q.turn[0]
		q.turn = q.turn[1:]
		if l.running >= q.limits.Running {
			q.turn = append(q.turn, l)
			skipped++
			continue
		}
		skipped = 0
		ready := l.waiting[0]
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			q.turn = append(q.turn, l)
		}
		q.waiting--
		q.observer.Queued(q.waiting)
		q.start(l)
		close(ready)
	}
}

// forget drops a line without calls, so that sessions leave nothing behind.
func (q *queue) forget(l *line) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(q.lines, l.session)
	}
}

// Package approvals knows the questions that wait for a person's word, and the
// rules that persons have made of their words.
//
// A server asks, and another process, on this machine or another, such as
// `mcp-tools approvals allow`, can answer. Where both find the question is behind
// [Rows]: it makes of several answers exactly one the first. A question belongs to
// the process that asked, which says every few seconds that it lives, and ends
// with it, however that dies. A word that was given is taken by nobody else, once,
// for exactly the call that was shown.
//
// It does not know what a tool is, when a call must be asked about, how to ask a
// client, or where rows are kept. Arguments are kept only as they may be shown;
// of their values there are digests.
//
// Begin with Store.Ask, Store.Answer and Store.Take: that is the life of a
// question. What outlives it is in rule.go.
package approvals

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// What may be wrong with a question.
var (
	ErrUnknown  = errors.New("there is no such question, or it is over")
	ErrAnswered = errors.New("it was answered before")
	ErrExpired  = errors.New("it was not answered in time")
	ErrChanged  = errors.New("the call is not the one that was approved")
	ErrTooMany  = errors.New("too many questions are waiting")
	ErrOnce     = errors.New("this call may only be allowed once")
)

const (
	// rowsTimeout is how long the rows may take for anything.
	rowsTimeout = 15 * time.Second
	// keepClosed is how long a question is still there to be shown when it is
	// over, so that whoever comes late learns who was faster.
	keepClosed = 10 * time.Minute
	// maxOpen and maxOpenEach bound the open questions of all, and of one caller.
	maxOpen     = 200
	maxOpenEach = 20
	// maxOpenText and maxOpenTextEach bound what there is to read in them.
	maxOpenText     = 8 << 20
	maxOpenTextEach = 1 << 20
	// maxClosed bounds those that are over and still there to be shown.
	maxClosed = 100
)

const idLen = 12

// Options make a Store.
type Options struct {
	DB *store.Store
	// Unused reports that certainly nothing was ever asked, answered or looked
	// at: then looking for something makes nothing. nil: never.
	Unused func() bool
	Log    *slog.Logger // nil: silent
}

// A Store is the approvals as one process sees them. It is safe for concurrent
// use, and so are any number of them with the same rows.
type Store struct {
	Options
	rows      rows
	me        string // names this process in its questions
	takeGrace time.Duration
	heartbeat heartbeat
}

// New returns the approvals. The rows are left alone before they are needed.
func New(o Options) *Store {
	if o.Unused == nil {
		o.Unused = func() bool { return false }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{Options: o, rows: rows{o.DB}, me: newID(), takeGrace: takeGrace}
	s.heartbeat.pending, s.heartbeat.asked = map[string]time.Time{}, make(chan struct{}, 1)
	return s
}

// Close withdraws what this process still asks. The store must not be used to
// ask any more.
func (s *Store) Close() error {
	if !s.heartbeat.end() {
		return nil
	}
	ctx, cancel := withTimeout(context.Background())
	defer cancel()
	return s.rows.RemoveOwner(ctx, s.me)
}

// withTimeout bounds how long one is held up by the rows.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, rowsTimeout)
}

// newID makes a random name that can be typed: 60 bits.
func newID() string { return strings.ToLower(rand.Text()[:idLen]) }

// isID reports whether text has the form of an id.
func isID(text string) bool {
	return len(text) == idLen && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// How long this process is known to live without saying so again, and how often
// it does: while a question waits, and while none does, when only what was
// allowed for a session hangs on it.
const (
	lease, renewal         = 30 * time.Second, 5 * time.Second
	longLease, longRenewal = 2 * time.Minute, 30 * time.Second
)

// A heartbeat is how this process says that it lives: from its first question on.
type heartbeat struct {
	asked chan struct{} // a question was asked

	mu      sync.Mutex
	pending map[string]time.Time // questions, until when they may be taken
	stop    context.CancelFunc   // nil before it has begun
	ended   bool
	done    sync.WaitGroup
}

// track keeps this process known to live, quickly while the question waits.
func (s *Store) track(id string, until time.Time) {
	l := &s.heartbeat
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending[id] = until
	if l.stop == nil && !l.ended {
		ctx, cancel := context.WithCancel(context.Background())
		l.stop = cancel
		l.done.Go(func() { s.beat(ctx) })
	}
	select {
	case l.asked <- struct{}{}:
	default:
	}
}

// untrack forgets a question of this process.
func (l *heartbeat) untrack(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}

// busy reports whether a question waits.
func (l *heartbeat) busy(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, until := range l.pending {
		if now.After(until) {
			delete(l.pending, id)
		}
	}
	return len(l.pending) > 0
}

// stop stops it, and reports whether it had begun.
func (l *heartbeat) end() bool {
	l.mu.Lock()
	stop := l.stop
	l.stop, l.ended = nil, true
	l.mu.Unlock()
	if stop == nil {
		return false
	}
	stop()
	l.done.Wait()
	return true
}

// beat says again and again that this process lives. Where that fails for
// longer than a lease, its questions are over, and it hears so when it takes
// the word.
func (s *Store) beat(ctx context.Context) {
	for {
		every := longRenewal
		if s.heartbeat.busy(time.Now()) {
			every = renewal
		}
		timer := time.NewTimer(every)
		select {
		case <-timer.C:
		case <-s.heartbeat.asked:
			timer.Stop()
			continue // the question has said it, and has it be said soon
		case <-ctx.Done():
			timer.Stop()
			return
		}
		long := longLease
		if s.heartbeat.busy(time.Now()) {
			long = lease
		}
		if err := s.renew(ctx, long); err != nil && ctx.Err() == nil {
			s.Log.Warn("open questions may be lost: nobody can be told that this server lives", "err", err)
		}
	}
}

func (s *Store) renew(ctx context.Context, long time.Duration) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	return s.rows.Renew(ctx, s.me, long)
}

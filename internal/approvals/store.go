// Package approvals has the questions that wait for an approver's decision, and
// the rules that approvers have made.
//
// A server asks, and another process, on this or another machine, answers, for
// example `mcp-tools approvals allow`. The questions are in the store; of several
// answers only the first counts. A question belongs to the process that asked. That
// process renews a lease every few seconds; when it dies, its questions end. An
// approval can be used once, by that process, for exactly the call that was shown.
//
// The package does not know what a tool is, which calls need an approval, or how
// to ask a client. It stores arguments only in the form that may be shown, and
// digests of their values.
//
// Begin with Store.Ask, Store.Answer and Store.Take, the steps of a question.
// Rules are in rule.go.
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

// Errors of questions.
var (
	ErrUnknown  = errors.New("no such question, or it has ended")
	ErrAnswered = errors.New("the question was already answered")
	ErrExpired  = errors.New("the question was not answered in time")
	ErrChanged  = errors.New("the call is not the one that was approved")
	ErrTooMany  = errors.New("too many open questions")
	ErrOnce     = errors.New("this call can only be allowed once")
)

const (
	// rowsTimeout limits each operation on the store.
	rowsTimeout = 15 * time.Second
	// keepClosed is the time that closed questions can be shown, so that a late
	// approver sees who answered.
	keepClosed = 10 * time.Minute
	// maxOpen and maxOpenEach limit the open questions, in all and of one caller.
	maxOpen     = 200
	maxOpenEach = 20
	// maxOpenText and maxOpenTextEach limit the size of their texts.
	maxOpenText     = 8 << 20
	maxOpenTextEach = 1 << 20
	// maxClosed limits the closed questions that can be shown.
	maxClosed = 100
)

const idLen = 12

// Options configure a Store.
type Options struct {
	DB  *store.Store
	Log *slog.Logger // nil: silent
}

// A Store is the access of one process to the approvals. It is safe for
// concurrent use, and so are several Stores with the same database.
type Store struct {
	Options
	rows      rows
	me        string // id of this process
	takeGrace time.Duration
	heartbeat heartbeat
}

// New returns a Store. It does not use the database yet.
func New(o Options) *Store {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{Options: o, rows: rows{o.DB}, me: newID(), takeGrace: takeGrace}
	s.heartbeat.pending, s.heartbeat.asked = map[string]time.Time{}, make(chan struct{}, 1)
	return s
}

// Close withdraws the questions of this process. Ask must not be called
// afterwards.
func (s *Store) Close() error {
	if !s.heartbeat.end() {
		return nil
	}
	ctx, cancel := withTimeout(context.Background())
	defer cancel()
	return s.rows.RemoveOwner(ctx, s.me)
}

// withTimeout limits an operation on the store.
func withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, rowsTimeout)
}

// newID returns a random id of 60 bits that is easy to type.
func newID() string { return strings.ToLower(rand.Text()[:idLen]) }

// isID reports whether text has the form of an id.
func isID(text string) bool {
	return len(text) == idLen && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// The duration and the renewal interval of the lease: while a question is open,
// and otherwise, when only session rules depend on it.
const (
	lease, renewal         = 30 * time.Second, 5 * time.Second
	longLease, longRenewal = 2 * time.Minute, 30 * time.Second
)

// A heartbeat renews the lease of this process from its first question on.
type heartbeat struct {
	asked chan struct{} // a question was asked

	mu      sync.Mutex
	pending map[string]time.Time // open questions, with the time of their end
	stop    context.CancelFunc   // nil before the start
	ended   bool
	done    sync.WaitGroup
}

// track starts the heartbeat, with the short interval until the question ends.
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

// untrack ends the short interval for a question.
func (l *heartbeat) untrack(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pending, id)
}

// busy reports whether a question is open.
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

// end stops the heartbeat, and reports whether it was started.
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

// beat renews the lease until ctx ends. If that fails for longer than a lease,
// the questions end, which Take reports.
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
			continue // Add has renewed the lease; use the short interval
		case <-ctx.Done():
			timer.Stop()
			return
		}
		long := longLease
		if s.heartbeat.busy(time.Now()) {
			long = lease
		}
		if err := s.renew(ctx, long); err != nil && ctx.Err() == nil {
			s.Log.Warn("cannot renew the lease of this process; open questions may be lost", "err", err)
		}
	}
}

func (s *Store) renew(ctx context.Context, long time.Duration) error {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	return s.rows.Renew(ctx, s.me, long)
}

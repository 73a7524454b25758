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

	"github.com/mcp-tools/mcp-tools/internal/clock"
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
	// Reachable reports whether questions of callers are sent to people who may answer. It
	// may be nil.
	Reachable func() bool
}

// A Store is the access of one process to the approvals. It is safe for
// concurrent use, and so are several Stores with the same database.
type Store struct {
	Options
	rows      rows
	me        string // id of this process
	takeGrace time.Duration

	beating sync.Once // starts the heartbeat
	stop    context.CancelFunc
	asked   chan struct{}   // wakes it
	ctx     context.Context // of the heartbeat
	done    sync.WaitGroup
}

// New returns a Store. It does not use the database yet.
func New(o Options) *Store {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Store{Options: o, rows: rows{o.DB}, me: newID(), takeGrace: takeGrace, asked: make(chan struct{}, 1)}
	s.ctx, s.stop = context.WithCancel(context.Background())
	return s
}

// Close withdraws the questions of this process. Ask must not be called
// afterwards.
func (s *Store) Close() error {
	s.stop()
	idle := false
	s.beating.Do(func() { idle = true }) // it was not started
	s.done.Wait()
	if idle {
		return nil
	}
	return s.rows.RemoveOwner(context.Background(), s.me)
}

// newID returns a random id of 60 bits that is easy to type.
func newID() string { return strings.ToLower(rand.Text()[:idLen]) }

// isID reports whether text has the form of an id.
func isID(text string) bool {
	return len(text) == idLen && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// The duration and the renewal interval of the lease.
const (
	lease     = 30 * time.Second
	renewal   = 5 * time.Second
	idleLease = 24 * time.Hour // without questions
)

// beat renews the lease of this process while it has questions that may be answered or used. If that fails
// for longer than a lease, the questions end, which Take reports. Afterwards the lease is long, for the rules of
// sessions.
func (s *Store) beat() {
	for {
		select {
		case <-s.asked:
		case <-time.After(idleLease / 2):
		case <-s.ctx.Done():
			return
		}
		for open := true; open && clock.Sleep(s.ctx, renewal) == nil; {
			var err error
			if open, err = s.rows.Renew(s.ctx, s.me); err != nil {
				if open = true; s.ctx.Err() == nil {
					s.Log.Warn("cannot renew the lease of this process; open questions may be lost", "err", err)
				}
			}
		}
	}
}

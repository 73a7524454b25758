package audit

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ledger"
)

var (
	// ErrBroken is why a record was not written; it comes with the cause. Each
	// later Append tries again.
	ErrBroken = errors.New("the audit log cannot be written")
	ErrClosed = errors.New("the audit log is closed")
)

// Rows are where the log is kept.
type Rows interface {
	Reader
	Begin(ctx context.Context, c ledger.Chain, seal ledger.Seal) error
	Append(ctx context.Context, from, to ledger.Chain, records []ledger.Record) error
	Note(ctx context.Context, key string, ended int64, seal ledger.Seal) error
	Prune(ctx context.Context, key string, chain, last int64, whole bool, seal ledger.Seal) error
	Rewrite(ctx context.Context, key string, seal ledger.Seal) error
}

// A Reader reads them. Each call is a transaction of its own, and returns no
// more than it was asked for.
type Reader interface {
	Chain(ctx context.Context, id int64) (c ledger.Chain, found bool, err error)
	Chains(ctx context.Context, after int64, limit int) ([]ledger.Chain, error)
	Seen(ctx context.Context, since, after int64, limit int) ([]ledger.Chain, error)
	NextChain(ctx context.Context, after int64) (id int64, found bool, err error)
	Records(ctx context.Context, chain, after int64, limit int) ([]ledger.Record, error)
	After(ctx context.Context, p ledger.Place, limit int) ([]ledger.Record, error)
	Before(ctx context.Context, p ledger.Place, limit int) ([]ledger.Record, error)
	Earliest(ctx context.Context, before int64) (chains []int64, err error)
	Count(ctx context.Context, who int64, what string) (same, all int, err error)
	Keys(ctx context.Context) ([]string, error)
	Heads(ctx context.Context, key string, after int64, limit int) ([]ledger.Head, error)
}

// Options of a Log. Without limits it keeps everything.
type Options struct {
	Rows      Rows
	Dir       string        // where the key is
	Version   string        // of the program, for the beginning of the chain
	HeadEvery time.Duration // at most this long until heads cover a record; a minute unless told
	MaxAge    time.Duration // records that are older are removed; 0 keeps them
	MaxBytes  int64         // while all records are larger, the oldest are removed; 0 keeps them
	Logger    *slog.Logger  // told of what fails in the background; nil for nobody
}

func (o Options) complete() (Options, error) {
	if o.HeadEvery < 0 || o.MaxAge < 0 || o.MaxBytes < 0 {
		return o, errors.New("an audit limit is negative; use 0 for the default")
	}
	if o.HeadEvery == 0 {
		o.HeadEvery = time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// A Log is one chain, open for appending. Its methods may be called from many
// goroutines.
//
// There is no writer goroutine. Whoever appends while nobody else does writes
// its record itself; whoever comes meanwhile queues. When the leader is done it
// makes the first in the queue the leader, who writes for all that have
// gathered. So one caller never waits for a goroutine to wake, and many
// callers share a transaction.
type Log struct {
	opts Options
	now  func() time.Time

	waiters sync.Pool // of *waiter

	mu      sync.Mutex
	queue   []*waiter // a leader that was appointed is the first of them
	leading bool
	closed  bool
	idle    chan struct{} // closed by the last leader, when Close waits for it
	reached point         // by the last leader
	begun   bool          // the keeper runs

	w    tip     // the leader's
	seal *sealer // the leader's; nil until there is a key
	key  key     // known when seal is there

	stop context.CancelFunc // the keeper
	ctx  context.Context    // of the keeper
	done chan struct{}      // the keeper has ended
}

// A waiter is one Append.
type waiter struct {
	fields []byte
	who    int64
	what   string
	err    error
	leads  bool
	ready  chan struct{} // one signal: it is written, or it leads
}

// maxBatch records are written at once; the rest wait for the next leader, so
// that no leader works for others for long.
const maxBatch = 128

// Open prepares a chain of its own. Nothing is read or written before the first
// record, so a process that records nothing leaves nothing. Close the Log when
// done, before the rows are.
func Open(o Options) (*Log, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	l := &Log{opts: o, now: time.Now, done: make(chan struct{})}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.waiters.New = func() any { return &waiter{ready: make(chan struct{}, 1)} }
	return l, nil
}

// Append writes r at the end of the chain. After nil the record is committed;
// after an error it is not in the log, except when the way to the database was
// lost before it could answer. A ctx that ends takes back a record whose writing
// has not begun.
func (l *Log) Append(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := l.waiters.Get().(*waiter)
	defer l.waiters.Put(w)
	w.fields, w.err, w.leads = appendFields(w.fields[:0], &r), nil, false
	w.who, w.what = asked(&r)

	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.queue = append(l.queue, w)
	first := !l.leading
	l.leading = true
	l.mu.Unlock()

	if !first {
		if err := l.wait(ctx, w); err != nil || !w.leads {
			return errors.Join(err, w.err)
		}
	}
	runtime.Gosched() // whoever is about to append as well saves a transaction
	l.lead(w)
	return w.err
}

// wait returns when w is written or leads, or with an error when it was taken
// back.
func (l *Log) wait(ctx context.Context, w *waiter) error {
	select {
	case <-w.ready:
		return nil
	case <-ctx.Done():
	}
	l.mu.Lock()
	i := slices.Index(l.queue, w)
	if i >= 0 && !w.leads {
		l.queue = slices.Delete(l.queue, i, i+1)
		l.mu.Unlock()
		return ctx.Err()
	}
	l.mu.Unlock()
	<-w.ready // it is being written, or others wait for it to lead
	return nil
}

// lead writes what has gathered, own first, and hands the lead on. When that
// fails, it fails for all who wait: each of them would wait as long again.
func (l *Log) lead(own *waiter) {
	batch := l.take(maxBatch)
	err := l.commit(batch)
	if err != nil {
		batch = append(batch, l.take(math.MaxInt)...)
	}
	for _, w := range batch {
		w.err = err
		if w != own {
			w.ready <- struct{}{}
		}
	}
	l.handOn(err == nil)
}

// take takes records from the queue.
func (l *Log) take(most int) []*waiter {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch := slices.Clone(l.queue[:min(most, len(l.queue))])
	l.queue = slices.Delete(l.queue, 0, len(batch))
	return batch
}

// handOn makes the first in the queue the leader, if there is one.
func (l *Log) handOn(written bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if written {
		l.reached = l.w.point()
		if !l.begun {
			l.begun = true
			go l.keep(l.key, l.w.chain.ID)
		}
	}
	switch {
	case len(l.queue) > 0:
		l.queue[0].leads = true
		l.queue[0].ready <- struct{}{}
	case l.idle != nil:
		close(l.idle)
		fallthrough
	default:
		l.leading = false
	}
}

// Close waits for what is being written, notes in the heads that the chain ends
// here, and ends all that belongs to the Log.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	var quiet chan struct{}
	if l.leading {
		quiet = make(chan struct{})
		l.idle = quiet
	}
	l.mu.Unlock()
	if quiet != nil {
		<-quiet
	}
	l.stop()
	if !l.begun {
		return nil
	}
	<-l.done
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return l.end(ctx, l.reached)
}

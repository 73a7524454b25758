package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
)

// A SyncMode says what Append waits for.
type SyncMode string

const (
	SyncBatched SyncMode = ""     // the operating system has the record; the disk gets it soon
	SyncFull    SyncMode = "full" // the disk has it
)

var (
	// ErrBroken is why a record was not written; it comes with the cause. Each
	// later Append tries again.
	ErrBroken = errors.New("the audit log cannot be written")
	ErrClosed = errors.New("the audit log is closed")
)

// Options of a Log. The zero value is a log that keeps everything.
type Options struct {
	Version      string        // of the program, for the headers
	SegmentBytes int64         // when a new segment is begun; 64 MiB unless told
	Sync         SyncMode      // what Append waits for
	SyncEvery    time.Duration // at most this long until a record is on the disk; 200 ms unless told
	HeadEvery    time.Duration // at most this long until heads covers a record; a minute unless told
	MaxAge       time.Duration // closed segments that are older are removed; 0 keeps them
	MaxBytes     int64         // while all segments are larger, the oldest closed one is removed; 0 keeps them
	Logger       *slog.Logger  // told of what fails in the background; nil for nobody
}

func (o Options) complete() (Options, error) {
	if o.Sync != SyncBatched && o.Sync != SyncFull {
		return o, fmt.Errorf("audit sync mode %q is not known; leave it empty or say %q", o.Sync, SyncFull)
	}
	if o.SegmentBytes < 0 || o.SyncEvery < 0 || o.HeadEvery < 0 || o.MaxAge < 0 || o.MaxBytes < 0 {
		return o, errors.New("an audit limit is negative; use 0 for the default")
	}
	if o.SegmentBytes == 0 {
		o.SegmentBytes = 64 << 20
	}
	if o.SyncEvery == 0 {
		o.SyncEvery = 200 * time.Millisecond
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
// callers share a write.
type Log struct {
	dir  string // DIR/audit
	opts Options
	seal *sealer // the leader's
	key  key

	waiters sync.Pool // of *waiter

	mu      sync.Mutex
	queue   []*waiter // a leader that was appointed is the first of them
	leading bool
	closed  bool
	idle    chan struct{} // closed by the last leader, when Close waits for it
	reached position      // by the last leader

	w chain // the leader's

	dirty    atomic.Bool   // something was written since the last background sync
	unsynced atomic.Bool   // that sync has failed
	named    position      // the keeper's: what the directory on the disk knows
	wake     chan struct{} // the keeper, when dirty becomes true
	stop     chan struct{}
	done     chan struct{} // the keeper has ended
}

// A waiter is one Append.
type waiter struct {
	fields []byte
	err    error
	leads  bool
	ready  chan struct{} // one signal: it is written, or it leads
}

// maxBatch records are written at once; the rest wait for the next leader, so
// that no leader works for others for long.
const maxBatch = 128

// Open prepares a chain of its own in the data directory dir, which it makes if
// need be. Files come with the first record, so a process that records nothing
// leaves nothing. Close the Log when done.
func Open(dir string, o Options) (*Log, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	own, err := private.MakeSub(dir, "audit")
	if err != nil {
		return nil, fmt.Errorf("making the directory of the audit log: %w", err)
	}
	k, err := openKey(dir, own)
	if err != nil {
		return nil, err
	}
	l := &Log{
		dir: own, opts: o, seal: newSealer(k), key: k,
		w:    chain{last: origin(), create: createSegment},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	l.waiters.New = func() any { return &waiter{ready: make(chan struct{}, 1)} }
	go l.keep()
	return l, nil
}

// openKey reads the key. At the first start it takes the lock, and makes what
// is not there yet.
func openKey(dir, own string) (key, error) {
	if k, err := loadKey(dir); err == nil && headsExist(own) {
		return k, nil
	}
	unlock, err := lockDir(own)
	if err != nil {
		return key{}, err
	}
	defer unlock()
	k, err := ensureKey(dir)
	if err != nil {
		return k, err
	}
	return k, beginHeads(own, k)
}

// Append writes r at the end of the chain. After nil the record survives the
// death of this process; after an error it is not in the log, except when only
// the sync of [SyncFull] failed. A ctx that ends takes back a record whose
// writing has not begun.
func (l *Log) Append(ctx context.Context, r Record) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := l.waiters.Get().(*waiter)
	defer l.waiters.Put(w)
	w.fields, w.err, w.leads = appendFields(w.fields[:0], &r), nil, false

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
	runtime.Gosched() // whoever is about to append as well saves a write
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

// lead writes what has gathered, own first, and hands the lead on.
func (l *Log) lead(own *waiter) {
	var room [maxBatch]*waiter
	l.mu.Lock()
	batch := room[:copy(room[:], l.queue)]
	l.queue = slices.Delete(l.queue, 0, len(batch))
	l.mu.Unlock()

	err := l.commit(batch)
	for _, w := range batch {
		w.err = err
		if w != own {
			w.ready <- struct{}{}
		}
	}
	l.handOn()
	if !l.dirty.Swap(true) {
		select {
		case l.wake <- struct{}{}:
		default: // it is about to wake
		}
	}
}

// handOn makes the first in the queue the leader, if there is one.
func (l *Log) handOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reached = l.w.position()
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

// Close waits for what is being written, syncs it, notes in heads how far the
// chain has come, and ends all that belongs to the Log.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	var idle chan struct{}
	if l.leading {
		idle = make(chan struct{})
		l.idle = idle
	}
	l.mu.Unlock()
	if idle != nil {
		<-idle
	}
	close(l.stop)
	<-l.done
	return l.finish()
}

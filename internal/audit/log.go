package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

var (
	// ErrBroken is why a record was not written; it comes with the cause. Each
	// later Append tries again.
	ErrBroken = errors.New("the audit log cannot be written")
	ErrClosed = errors.New("the audit log is closed")
)

// Options of a Log. Without limits it keeps everything.
type Options struct {
	DB        *DB
	Dir       string        // where the key and the journals are
	Full      bool          // a record is on the disk before it is acknowledged
	Version   string        // of the program, for the beginning of the chain
	HeadEvery time.Duration // lastTime most this long until heads cover a record; a minute unless told
	MaxAge    time.Duration // records that are older are removed; 0 keeps them
	MaxBytes  int64         // while all records are larger, the oldest are removed; 0 keeps them
	Logger    *slog.Logger  // told of what fails in the background; nil for nobody
}

func (o Options) complete() (Options, error) {
	if o.DB == nil {
		return o, errors.New("audit: no store is given")
	}
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
// Whoever appends writes a line to the journal and is done. A goroutine, the
// carrier, takes what has gathered to the store; another, the keeper, writes
// heads and applies retention. Both begin with the first record.
type Log struct {
	opts   Options
	rows   rowStore
	now    func() time.Time
	drafts sync.Pool // of *[]byte: fields of records

	mu      sync.Mutex
	closed  bool
	seal    *sealer // nil until there is a key
	key     key     // known when seal is there
	current     *openChain    // nil before the first record, and after a long silence
	uploadErr error   // why the last attempt to carry failed

	throttled atomic.Bool   // of a store that takes records, by more than it should
	progress chan struct{} // closed when the store has taken something; behind mu

	start   sync.Once
	wake    chan struct{} // for the carrier: there is something again
	work    sync.WaitGroup
	ctx     context.Context // of the carrier and the keeper
	stop    context.CancelFunc
	storeCtx context.Context // of transactions that nobody interrupts before it is time
	cancelStore  context.CancelCauseFunc
}

// A current is the writing end of a chain.
type openChain struct {
	chain   chainRow // as it began
	journal *journal
	seq     int64 // of the last record
	lastLink    link  // the link of its line
	lastTime      time.Time
	buf     []byte

	pending    []recordRow // of the journal, not known to be in the store
	pendingBytes    int64       // of their lines in the journal
	stored point       // how far the store has the chain; zero before it has it
	upload   upload       // the carrier's alone
}

const (
	// idleAfter is how long a chain may go without a record until it is at its end:
	// the next record begins another. What was silent for longer by far is
	// nobody's, and retention may remove it to the last record.
	idleAfter   = 12 * time.Hour
	abandonedAfter = 3 * 24 * time.Hour
)

// Open prepares a chain of its own. Nothing is read or written before the first
// record, so a process that records nothing leaves nothing. Close the Log when
// done, before the rows are.
func Open(o Options) (*Log, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	l := &Log{opts: o, rows: o.DB.rows, now: time.Now, progress: make(chan struct{}), wake: make(chan struct{}, 1)}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.storeCtx, l.cancelStore = context.WithCancelCause(context.Background())
	l.drafts.New = func() any { return new([]byte) }
	return l, nil
}

// Append writes r at the end of the chain. After nil it is in the journal, and
// will be in the store; after an error it is not in the log, except when Full
// was asked for and the disk could not say. A ctx that ends takes back a record
// whose writing has not begun.
func (l *Log) Append(ctx context.Context, r Record) error {
	draft := l.drafts.Get().(*[]byte)
	defer l.drafts.Put(draft)
	*draft = appendFields((*draft)[:0], &r)
	who, what := lookupKey(&r)
	if l.throttled.Load() {
		l.waitForStore(ctx)
	}
	j, upTo, err := l.add(ctx, *draft, who, what)
	if err == nil && l.opts.Full {
		if err = j.sync(upTo); err != nil {
			err = fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
	return err
}

// add writes a line to the journal, and says where that ends.
func (l *Log) add(ctx context.Context, fields []byte, who int64, what string) (j *journal, upTo int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		return nil, 0, ctx.Err()
	case l.closed:
		return nil, 0, ErrClosed
	case errors.Is(l.uploadErr, errMoved):
		return nil, 0, fmt.Errorf("%w: %w", ErrBroken, l.uploadErr)
	}
	now := l.now().UTC().Truncate(time.Microsecond)
	if l.current == nil {
		err = l.begin(ctx, now)
	}
	if err == nil {
		err = l.current.add(l.seal, now, fields, who, what)
	}
	if errors.Is(err, errJournalFull) && l.uploadErr != nil {
		err = fmt.Errorf("%w: %w", err, l.uploadErr)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrBroken, err)
	}
	if len(l.current.pending) == 1 {
		l.wakeUploader()
	}
	l.updateBackpressure()
	return l.current.journal, l.current.journal.size.Load(), nil
}

// wakeUploader wakes the carrier, if it is not awake.
func (l *Log) wakeUploader() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// begin makes a chain and its journal.
func (l *Log) begin(ctx context.Context, now time.Time) error {
	if l.seal == nil {
		k, err := ensureKey(ctx, l.opts.Dir)
		if err != nil {
			return err
		}
		l.key, l.seal = k, newSealer(k)
	}
	c, err := newChain(now, l.key, l.seal, l.opts.Version)
	if err != nil {
		return err
	}
	j, err := newJournal(l.opts.Dir, c, nil, nil, l.opts.Full)
	if err != nil {
		return err
	}
	l.current = &openChain{chain: c, journal: j, lastTime: now, upload: upload{rows: l.rows, key: l.key, chain: c, synced: true}}
	l.current.lastLink, _ = parseLink(c.Hash)
	l.start.Do(func() {
		l.work.Go(l.runUploader)
		l.work.Go(l.runMaintenance)
	})
	return nil
}

// add seals a record and writes it.
func (t *openChain) add(s *sealer, now time.Time, fields []byte, who int64, what string) error {
	if now.Before(t.lastTime) {
		now = t.lastTime
	}
	line, last := s.seal(appendRow(t.buf[:0], uint64(t.seq)+1, now, fields), t.lastLink)
	t.buf = append(line, '\n')
	if err := t.journal.add(t.buf); err != nil {
		return err
	}
	t.seq, t.lastLink, t.lastTime = t.seq+1, last, now
	t.pendingBytes += int64(len(t.buf))
	t.pending = append(t.pending, recordRow{
		Chain: t.chain.ID, Seq: t.seq, At: now.UnixMicro(), Who: who, What: what, Line: string(line),
	})
	return nil
}

// Close carries what is left to the store, notes in the heads that the chain
// ends here, and ends all that belongs to the Log. What the store does not take
// within some seconds stays in the journal, for the next process.
func (l *Log) Close() error {
	l.mu.Lock()
	again := l.closed
	l.closed = true
	l.mu.Unlock()
	if again {
		return nil
	}
	l.stop()
	late := time.AfterFunc(closeTimeout, func() { l.cancelStore(errSlow) })
	defer func() { late.Stop(); l.cancelStore(nil) }()
	l.work.Wait()
	if l.current == nil {
		return nil
	}
	if err := l.uploadPending(l.storeCtx); err != nil {
		_ = l.current.journal.close() // which has them already
		return fmt.Errorf("%d records wait in %s for the next process: %w", len(l.current.pending), l.current.journal.path, err)
	}
	return l.endChain(l.current)
}

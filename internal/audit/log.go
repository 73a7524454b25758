package audit

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
)

var (
	// ErrBroken wraps the cause when a record was not written. The next Append
	// tries again.
	ErrBroken = errors.New("the audit log cannot be written")
	ErrClosed = errors.New("the audit log is closed")
)

// Options configure a Log. Without limits it keeps all records.
type Options struct {
	DB        *DB
	Dir       string        // data directory, with the key and the journals
	Full      bool          // sync the journal before a record is acknowledged
	Version   string        // of the program; written to the first line of the chain
	HeadEvery time.Duration // interval of heads; 0 means a minute
	MaxAge    time.Duration // remove older records; 0 keeps all
	// MaxRecords is the maximum number of records: the oldest are removed; 0 keeps all. It has no
	// effect without MaxAge, and in PostgreSQL: old days cost nothing there but space.
	MaxRecords int
	Vault      Vault        // seals the key for other machines; nil: they do not get it
	Jobs       *jobs.Loop   // does the retention; nil: a loop of its own
	Logger     *slog.Logger // for failures in the background; nil discards them
}

func (o Options) complete() (Options, error) {
	if o.DB == nil {
		return o, errors.New("audit: no store is given")
	}
	if o.HeadEvery < 0 || o.MaxAge < 0 {
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
// Append writes a line to the journal. A goroutine that the first record starts
// copies the lines to the store and writes heads. A job applies the retention.
type Log struct {
	opts Options
	rows rowStore
	now  func() time.Time

	mu        sync.Mutex
	closed    bool
	seal      *sealer    // nil before the first record
	key       key        // valid if seal is not nil
	current   *openChain // nil before the first record
	uploadErr error      // the error of the last upload

	failing   atomic.Bool // the last record was not written
	throttled atomic.Bool // too much waits for a store that is available

	start sync.Once
	topic string   // wakes run, in this process only
	noted struct { // the last head, for run
		point point
		at    time.Time
	}
	shared      bool      // the key is in the store, for run
	sweep       time.Time // when run recovers journals next
	retention   *jobs.Queue
	work        sync.WaitGroup
	ctx         context.Context // of run
	stop        context.CancelFunc
	storeCtx    context.Context // of transactions; it ends only with Close
	cancelStore context.CancelCauseFunc
}

// An openChain is the chain that the Log appends to.
type openChain struct {
	chain    chainRow // as it was created
	journal  *journal
	seq      int64 // of the last record
	lastLink link  // the link of the last line
	lastTime time.Time
	buf      []byte

	pending      []recordRow // in the journal, perhaps not in the store
	pendingBytes int64       // size of their lines
	stored       point       // how far the store has the chain; zero if it does not have it
	upload       upload      // used only by the uploader
}

// abandonedAfter is the time without new records after which retention may remove a chain
// without an end.
const abandonedAfter = 3 * 24 * time.Hour

// Open returns a Log that will write a new chain. It reads and writes
// nothing before the first record, so that a process without records leaves no
// trace. Close the Log before the store.
func Open(o Options) (*Log, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	l := &Log{opts: o, rows: o.DB.rows, now: time.Now, topic: "audit journal " + store.NewID()}
	l.ctx, l.stop = context.WithCancel(context.Background())
	l.storeCtx, l.cancelStore = context.WithCancelCause(context.Background())
	return l, nil
}

// Append writes r at the end of the chain. If it returns nil the record is in
// the journal and will be in the store. If it returns an error the record is not
// in the log, except when Full is set and the sync failed. If ctx has ended
// before r is written, Append returns its error.
func (l *Log) Append(ctx context.Context, r Record) error {
	var buffer [512]byte // enough for most records
	fields := appendFields(buffer[:0], r)
	who, what := lookupKey(&r)
	l.waitForStore(ctx)
	j, upTo, err := l.add(ctx, fields, who, what)
	if err == nil && l.opts.Full {
		if err = j.sync(upTo); err != nil {
			err = fmt.Errorf("%w: %w", ErrBroken, err)
		}
	}
	if broken := errors.Is(err, ErrBroken); broken || err == nil {
		l.failing.Store(broken)
	}
	return err
}

// add writes a line to the journal and returns the offset of its end.
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
		l.rows.base().Poke(l.topic)
	}
	l.updateBackpressure()
	return l.current.journal, l.current.journal.size.Load(), nil
}

// sharedKey returns the key that other machines have put into the store.
func (l *Log) sharedKey(ctx context.Context) (key, error) {
	if l.opts.Vault == nil {
		return key{}, errors.New("there is no vault")
	}
	return l.opts.DB.shared(ctx, l.opts.Vault)
}

// begin creates a chain and its journal.
func (l *Log) begin(ctx context.Context, now time.Time) error {
	if l.seal == nil {
		k, err := ensureKey(ctx, l.opts.Dir, l.sharedKey)
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
	l.current = &openChain{
		chain: c, journal: j, lastTime: now,
		upload: upload{rows: l.rows, key: l.key, dir: l.opts.Dir, chain: c, synced: true},
	}
	l.current.lastLink, _ = parseLink(c.Hash)
	l.start.Do(func() {
		l.work.Go(l.run)
	})
	return nil
}

// startRetention starts the job that applies the retention, if it was not started: one for all processes with the key,
// each hour.
func (l *Log) startRetention() {
	if l.retention != nil {
		return
	}
	l.retention = &jobs.Queue{
		Store: l.rows.base(), Loop: l.opts.Jobs, Kind: "audit retention " + l.key.id(), Every: sweepEvery, Always: true,
		Log: l.opts.Logger, Do: func(ctx context.Context, _ *jobs.Held) (string, error) {
			return "", l.prune(ctx, l.key, l.now())
		},
	}
	l.retention.Start()
}

// add seals a record and writes it to the journal.
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

// Close uploads the remaining records, writes a head that ends the chain, and
// stops the goroutines. Records that the store does not take within some seconds
// stay in the journal for the next process.
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
	if l.retention != nil {
		_ = l.retention.Close() // it has no error
	}
	if l.current == nil {
		return nil
	}
	if err := l.uploadPending(l.storeCtx); err != nil {
		_ = l.current.journal.close() // the journal has the records
		return fmt.Errorf("%d records remain in %s for the next process: %w", len(l.current.pending),
			l.current.journal.path, err)
	}
	return l.endChain(l.current)
}

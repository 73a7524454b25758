package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
)

const (
	// uploadDelay is the time that the uploader waits for more records.
	uploadDelay = 20 * time.Millisecond
	// retryDelay is the delay after a failed upload.
	retryDelay = time.Second
	// txTimeout limits a transaction.
	txTimeout = 15 * time.Second
	// closeTimeout limits the uploads in Close. The next process uploads the rest of the
	// journal.
	closeTimeout = 5 * time.Second
	// throttleBytes is the size of waiting records that makes each Append wait for the store,
	// at most throttleMax.
	throttleBytes = 16 << 20
	throttleMax   = time.Second
	throttleStep  = 10 * time.Millisecond
	// seenEvery is the interval of updates of the column seen of a chain.
	seenEvery = 10 * time.Second
)

// errSlow is the cause of a transaction that timed out.
var errSlow = errors.New("the store did not answer for some seconds; another process may have locked it")

// run does the work of the Log in the background until it is closed: it uploads records when there are new ones, and
// writes heads and recovers journals when it is time to. It opens the store with the first upload.
func (l *Log) run() {
	for wait := uploadDelay; clock.Sleep(l.ctx, wait) == nil && l.uploadPending(l.ctx) != nil; wait = retryDelay {
	}
	l.noted.at, l.sweep = time.Now(), time.Now().Add(firstSweep)
	l.rows.base().Work(l.ctx, "", l.step, l.topic)
}

// step does the due work, and returns the time until more work is due if no record is added.
func (l *Log) step(ctx context.Context) (next time.Duration, _ error) {
	if l.waiting() && clock.Sleep(ctx, uploadDelay) == nil && l.uploadPending(ctx) != nil {
		return retryDelay, nil
	}
	left := l.noteHead()
	if next = time.Until(l.sweep); next <= 0 {
		l.Recover(ctx)
		l.startRetention()
		l.report("preparing the audit log for the next days", l.rows.MakeDays(ctx, l.now()))
		l.sweep, next = time.Now().Add(sweepEvery), sweepEvery
	}
	if left > 0 {
		next = min(next, left)
	}
	return next, nil
}

// waiting reports whether records wait for their upload.
func (l *Log) waiting() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.current.pending) > 0
}

// uploadPending uploads the records that wait now. If ctx ends it stops between
// transactions, because the result of an interrupted one is unknown.
func (l *Log) uploadPending(ctx context.Context) (err error) {
	l.mu.Lock()
	t, left := l.current, 0
	if t != nil {
		left = len(t.pending)
	}
	l.mu.Unlock()
	for left > 0 && err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		l.mu.Lock()
		list := t.pending[:left] // only uploaded moves them
		l.mu.Unlock()
		one, cancel := context.WithTimeoutCause(l.storeCtx, txTimeout, errSlow)
		var n int
		n, err = t.upload.next(one, list, time.Now().UnixMilli())
		if err != nil && errors.Is(err, one.Err()) {
			err = context.Cause(one)
		}
		cancel()
		left -= n
		l.uploaded(t, n, err)
	}
	return err
}

// uploaded records that the store has n more records, and the error of the
// upload.
func (l *Log) uploaded(t *openChain, n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setUploadErr(err)
	for _, r := range t.pending[:n] {
		t.pendingBytes -= int64(len(r.Line)) + 1
	}
	rest := copy(t.pending, t.pending[n:])
	clear(t.pending[rest:]) // free the lines
	if t.pending = t.pending[:rest]; rest > 0 {
		if err == nil {
			l.rows.base().Poke(l.topic)
		}
	} else if cap(t.pending) > 4*maxBatch {
		t.pending = nil // it may have been many
	}
	if t.upload.begun {
		t.stored = t.upload.point()
		_ = l.trimJournal(t) // a failure is retried after the next batch
	}
	l.updateBackpressure()
}

// updateBackpressure sets throttled if too much waits for a store that is
// available. Otherwise the journal would soon be full and calls refused.
func (l *Log) updateBackpressure() {
	l.throttled.Store(l.uploadErr == nil && l.current != nil && l.current.pendingBytes >= throttleBytes)
}

// waitForStore waits until less records wait, the store is not available, or
// throttleMax has passed.
func (l *Log) waitForStore(ctx context.Context) {
	for waited := time.Duration(0); l.throttled.Load() && waited < throttleMax; waited += throttleStep {
		if clock.Sleep(ctx, throttleStep) != nil || l.ctx.Err() != nil {
			return
		}
	}
}

// setUploadErr sets uploadErr, and logs when records begin and cease to wait.
func (l *Log) setUploadErr(err error) {
	switch changed := errors.Is(err, errMoved); {
	case changed && !errors.Is(l.uploadErr, errMoved):
		l.opts.Logger.Error("calls are refused: the chain of this process was changed in the store", "err", err)
	case err != nil && l.uploadErr == nil:
		l.opts.Logger.Warn("the store is not available; audit records wait in the data directory", "err", err)
	case err == nil && l.uploadErr != nil:
		l.opts.Logger.Info("the store is available again; audit records are uploaded")
	}
	l.uploadErr = err
}

// trimJournal writes a checkpoint when the store has the chain, and replaces the
// journal when most of it was uploaded.
func (l *Log) trimJournal(t *openChain) error {
	if !t.journal.hasCheckpoint {
		err := t.journal.add(checkpointLine(l.seal, t.stored))
		t.journal.hasCheckpoint = err == nil
		return err
	}
	if carried := t.journal.size.Load() - t.pendingBytes; carried < max(maxStoredPrefix, t.pendingBytes) {
		return nil
	}
	next, err := newJournal(l.opts.Dir, t.chain, checkpointLine(l.seal, t.stored), t.pending, l.opts.Full)
	if err != nil {
		return err
	}
	before := t.journal
	t.journal = next
	return before.remove()
}

// endChain ends a chain that is completely in the store. If that fails, the next
// process recovers the journal.
func (l *Log) endChain(t *openChain) error {
	if !t.upload.begun { // the disk was full before the first record
		return t.journal.remove()
	}
	ctx, cancel := context.WithTimeout(l.storeCtx, txTimeout)
	defer cancel()
	if err := t.upload.end(ctx); err != nil {
		return errors.Join(err, t.journal.close())
	}
	return t.journal.remove()
}

// maxBatch is the maximum number of records in one transaction. Other writers
// wait for it. COPY is not faster in PostgreSQL than the statement with many rows
// that is prepared: 3.1 to 3.7 ms for 256 records against 2.9 to 3.1.
const maxBatch = 256

// An upload is the state of copying one chain from a journal to the store.
type upload struct {
	rows   rowStore
	key    key
	dir    string   // of the key
	chain  chainRow // the part that is known to be in the store
	bytes  int64    // size of all records up to there
	begun  bool     // the store has the chain
	synced bool     // the store has exactly the part in chain
}

// point returns how far the store has the chain.
func (c *upload) point() point {
	return point{Chain: chainName(c.chain.ID), Key: c.chain.Key, Seq: uint64(c.chain.Seq), Mark: c.chain.Hash,
		Bytes: c.bytes}
}

// errNotAsExpected means that nothing was added, because the chain in the store
// has changed: a transaction that timed out was committed after all, or another
// process changed the chain.
var errNotAsExpected = errors.New("the chain was changed during the upload")

// next uploads some of the records. They follow the records in the store without a gap. next
// returns how many of them the store has afterwards. If the result of an earlier transaction is
// unknown it reads the chain first.
func (c *upload) next(ctx context.Context, list []recordRow, seen int64) (n int, err error) {
	for range 3 {
		var more int
		more, err = c.tryNext(ctx, list[n:], seen)
		if n += more; !errors.Is(err, errNotAsExpected) {
			break
		}
	}
	return n, err
}

func (c *upload) tryNext(ctx context.Context, list []recordRow, seen int64) (n int, err error) {
	if !c.synced {
		if n, err = c.sync(ctx, list); err != nil {
			return n, err
		}
	}
	batch := list[n:min(len(list), n+maxBatch)]
	if len(batch) == 0 {
		return n, nil
	}
	c.synced = false
	if !c.begun {
		if err := c.begin(ctx); err != nil {
			return n, fmt.Errorf("beginning a chain: %w", err)
		}
	}
	last := batch[len(batch)-1]
	to := c.chain
	to.Seq, to.Hash = last.Seq, linkOf([]byte(last.Line)).String()
	if ago := seen - to.Seen; ago < 0 || ago >= seenEvery.Milliseconds() { // the clock may have been set back
		to.Seen = seen
	}
	switch err := c.rows.Append(ctx, c.chain, to, batch); {
	case errors.Is(err, errMoved):
		return n, errNotAsExpected
	case err != nil:
		return n, err
	}
	c.synced = true
	c.chain.Seen = to.Seen
	c.advance(batch)
	return n + len(batch), nil
}

// begin adds the chain to the store, with a head.
func (c *upload) begin(ctx context.Context) error {
	err := headWriter{c.rows, c.key, c.dir}.add(ctx, func(seal headsFunc) error {
		return c.rows.Begin(ctx, c.chain, seal)
	}, head{Kind: headReached, Chains: []point{c.point()}})
	c.begun = err == nil
	return err
}

// end adds a head that says that the chain ends where the store has it.
func (c *upload) end(ctx context.Context) error {
	at := c.point()
	at.End = true
	return headWriter{c.rows, c.key, c.dir}.add(ctx, func(seal headsFunc) error {
		return c.rows.Note(ctx, c.key.id(), c.chain.ID, seal)
	}, head{Kind: headReached, Chains: []point{at}})
}

// advance records that the store has these records too.
func (c *upload) advance(list []recordRow) {
	for _, r := range list {
		c.bytes += int64(len(r.Line))
	}
	if n := len(list); n > 0 {
		c.chain.Seq, c.chain.Hash = list[n-1].Seq, linkOf([]byte(list[n-1].Line)).String()
	}
}

// sync reads how many of the records the store has. If the chain there cannot be the result of
// uploading these records, another process changed it; nothing is added then: after records
// were removed the chain must not verify again.
func (c *upload) sync(ctx context.Context, list []recordRow) (n int, err error) {
	got, found, err := c.rows.Chain(ctx, c.chain.ID)
	switch {
	case err != nil:
	case found:
		n, err = c.advanceTo(list, got.Seq, got.Hash)
	default:
		n, err = c.resumePruned(ctx, list)
	}
	if err != nil {
		return 0, err
	}
	c.begun, c.synced = found, true
	return n, nil
}

// advanceTo advances to the end of the chain in the store, if that is one of the
// records.
func (c *upload) advanceTo(list []recordRow, seq int64, hash string) (n int, err error) {
	ahead := seq - c.chain.Seq
	if ahead < 0 || ahead > int64(len(list)) {
		return 0, chainMoved(c.chain.ID)
	}
	link := c.chain.Hash
	if ahead > 0 {
		link = linkOf([]byte(list[ahead-1].Line)).String()
	}
	if link != hash {
		return 0, chainMoved(c.chain.ID)
	}
	c.advance(list[:ahead])
	return int(ahead), nil
}

// resumePruned handles a chain that the store does not have. If heads say that
// retention removed it, it continues where it was cut off. Otherwise it must be
// one that was never in the store.
func (c *upload) resumePruned(ctx context.Context, list []recordRow) (n int, err error) {
	book, err := readHeads(ctx, c.rows, c.key.id(), newSealer(c.key), lastHead{}, func(int64, Kind, string) {})
	if err != nil {
		return 0, err
	}
	if at := book.pruned[chainName(c.chain.ID)]; at.End {
		return c.advanceTo(list, int64(at.Seq), at.Mark)
	}
	if c.begun {
		return 0, chainMoved(c.chain.ID)
	}
	return 0, nil
}

// contains reports whether the store has a record of the chain, or had it until
// retention removed it.
func (c *upload) contains(ctx context.Context, r recordRow) (bool, error) {
	list, err := c.rows.Records(ctx, r.Chain, r.Seq-1, 1)
	if err != nil || len(list) > 0 && list[0].Line == r.Line {
		return err == nil, err
	}
	book, err := readHeads(ctx, c.rows, c.key.id(), newSealer(c.key), lastHead{}, func(int64, Kind, string) {})
	return book.pruned[chainName(r.Chain)].Seq >= uint64(r.Seq), err
}

func chainMoved(id int64) error {
	return fmt.Errorf("%w: the chain %s was removed or changed in the store; restore it, or restart this process",
		errMoved, chainName(id))
}

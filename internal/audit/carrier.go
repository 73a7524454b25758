package audit

import (
	"context"
	"errors"
	"time"
)

const (
	// uploadDelay is how long a record waits for others to go to the store with.
	uploadDelay = 20 * time.Millisecond
	// retryDelay is how long the carrier waits at most when that has failed.
	retryDelay = time.Second
	// txTimeout is how long a transaction may take.
	txTimeout = 15 * time.Second
	// closeTimeout is how long the store has at the end: whoever stops us has not
	// much patience, and the next process has what is in the journal.
	closeTimeout = 5 * time.Second
	// throttleBytes is how much may wait for a store that takes records until those
	// who write more wait too, each for no longer than slowdown.
	throttleBytes = 16 << 20
	throttleMax   = time.Second
	// seenEvery is how often the store is told that a chain is added to.
	seenEvery = 10 * time.Second
)

// errSlow is what a person is told whom a context would tell nothing.
var errSlow = errors.New("the store has taken nothing for some seconds; another process may have locked it")

// upload_ is the carrier: it takes to the store what waits in the journal, as long
// as there is something, and sleeps when there is nothing.
func (l *Log) runUploader() {
	for wait := uploadDelay; ; {
		select {
		case <-l.wake:
		case <-l.ctx.Done():
			return
		}
		select {
		case <-time.After(wait):
		case <-l.ctx.Done():
			return
		}
		if wait = uploadDelay; l.uploadPending(l.ctx) != nil {
			wait = retryDelay
		}
	}
}

// uploadPending carries the records that wait now. Those that come meanwhile have time.
// A ctx that ends interrupts no transaction, whose outcome nobody would know.
func (l *Log) uploadPending(ctx context.Context) (err error) {
	l.mu.Lock()
	t := l.current
	var list []recordRow
	if t != nil {
		list = t.pending
	}
	l.mu.Unlock()
	for len(list) > 0 && err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		one, cancel := context.WithTimeoutCause(l.storeCtx, txTimeout, errSlow)
		var n int
		n, err = t.upload.next(one, list, time.Now().UnixMilli())
		if err != nil && errors.Is(err, one.Err()) {
			err = context.Cause(one)
		}
		cancel()
		list = list[n:]
		l.uploaded(t, n, err)
	}
	return err
}

// uploaded takes down that the store has so many records more, and what kept it
// from having all.
func (l *Log) uploaded(t *openChain, n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.setUploadErr(err)
	for _, r := range t.pending[:n] {
		t.pendingBytes -= int64(len(r.Line)) + 1
	}
	clear(t.pending[:n]) // lines that nobody needs any more
	if t.pending = t.pending[n:]; len(t.pending) > 0 {
		l.wakeUploader()
	} else {
		t.pending = nil // it may have been many
	}
	if t.upload.begun {
		t.stored = t.upload.point()
		_ = l.trimJournal(t) // what fails is tried again after the next batch
	}
	l.updateBackpressure()
	close(l.progress)
	l.progress = make(chan struct{})
}

// measure says whether so much waits for a store that takes records that there is
// no end to it: then the journal would be full in a minute, and calls refused.
func (l *Log) updateBackpressure() {
	l.throttled.Store(l.uploadErr == nil && l.current != nil && l.current.pendingBytes >= throttleBytes)
}

// waitForStore waits until less waits, or the store is away, but not for long.
func (l *Log) waitForStore(ctx context.Context) {
	late := time.NewTimer(throttleMax)
	defer late.Stop()
	for {
		l.mu.Lock()
		taken := l.progress
		l.mu.Unlock()
		if !l.throttled.Load() {
			return
		}
		select {
		case <-taken:
		case <-late.C:
			return
		case <-ctx.Done():
			return
		case <-l.ctx.Done():
			return
		}
	}
}

// report tells a person when records begin to wait, and when they do not any more.
func (l *Log) setUploadErr(err error) {
	switch changed := errors.Is(err, errMoved); {
	case changed && !errors.Is(l.uploadErr, errMoved):
		l.opts.Logger.Error("calls are refused, because somebody else changed their record", "err", err)
	case err != nil && l.uploadErr == nil:
		l.opts.Logger.Warn("the record of calls waits in the data directory until the store takes it", "err", err)
	case err == nil && l.uploadErr != nil:
		l.opts.Logger.Info("the store takes the record of calls again")
	}
	l.uploadErr = err
}

// trimJournal has the journal say that the store has the chain, and keeps it short.
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

// endChain ends a chain that is in the store as a whole. When that fails, its
// journal is that of a dead process, of which the next one sees to it.
func (l *Log) endChain(t *openChain) error {
	if !t.upload.begun { // a full disk took its beginning, and no record
		return t.journal.remove()
	}
	ctx, cancel := context.WithTimeout(l.storeCtx, txTimeout)
	defer cancel()
	if err := t.upload.end(ctx); err != nil {
		return errors.Join(err, t.journal.close())
	}
	return t.journal.remove()
}

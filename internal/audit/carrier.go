package audit

import (
	"context"
	"errors"
	"time"
)

const (
	// carryAfter is how long a record waits for others to go to the store with.
	carryAfter = 20 * time.Millisecond
	// carryAgain is how long the carrier waits at most when that has failed.
	carryAgain = time.Second
	// patience is how long a transaction may take.
	patience = 15 * time.Second
	// farewell is how long the store has at the end: whoever stops us has not
	// much patience, and the next process has what is in the journal.
	farewell = 5 * time.Second
	// mostAhead is how much may wait for a store that takes records until those
	// who write more wait too, each for no longer than slowdown.
	mostAhead = 16 << 20
	slowdown  = time.Second
	// seenEvery is how often the store is told that a chain is added to.
	seenEvery = 10 * time.Second
)

// errSlow is what a person is told whom a context would tell nothing.
var errSlow = errors.New("the store has taken nothing for some seconds; another process may have locked it")

// carry is the carrier: it takes to the store what waits in the journal, as long
// as there is something, and sleeps when there is nothing.
func (l *Log) carry() {
	for wait := carryAfter; ; {
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
		if wait = carryAfter; l.unload(l.ctx) != nil {
			wait = carryAgain
		}
	}
}

// unload carries the records that wait now. Those that come meanwhile have time.
// A ctx that ends interrupts no transaction, whose outcome nobody would know.
func (l *Log) unload(ctx context.Context) (err error) {
	l.mu.Lock()
	t := l.tip
	var list []recordRow
	if t != nil {
		list = t.left
	}
	l.mu.Unlock()
	for len(list) > 0 && err == nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		one, cancel := context.WithTimeoutCause(l.storing, patience, errSlow)
		var n int
		n, err = t.cargo.carry(one, list, time.Now().UnixMilli())
		if err != nil && errors.Is(err, one.Err()) {
			err = context.Cause(one)
		}
		cancel()
		list = list[n:]
		l.carried(t, n, err)
	}
	return err
}

// carried takes down that the store has so many records more, and what kept it
// from having all.
func (l *Log) carried(t *tip, n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tell(err)
	for _, r := range t.left[:n] {
		t.size -= int64(len(r.Line)) + 1
	}
	clear(t.left[:n]) // lines that nobody needs any more
	if t.left = t.left[n:]; len(t.left) > 0 {
		l.rouse()
	} else {
		t.left = nil // it may have been many
	}
	if t.cargo.begun {
		t.reached = t.cargo.point()
		_ = l.tidy(t) // what fails is tried again after the next batch
	}
	l.weigh()
	close(l.taken)
	l.taken = make(chan struct{})
}

// weigh says whether so much waits for a store that takes records that there is
// no end to it: then the journal would be full in a minute, and calls refused.
func (l *Log) weigh() {
	l.ahead.Store(l.trouble == nil && l.tip != nil && l.tip.size >= mostAhead)
}

// letCatchUp waits until less waits, or the store is away, but not for long.
func (l *Log) letCatchUp(ctx context.Context) {
	late := time.NewTimer(slowdown)
	defer late.Stop()
	for {
		l.mu.Lock()
		taken := l.taken
		l.mu.Unlock()
		if !l.ahead.Load() {
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

// tell tells a person when records begin to wait, and when they do not any more.
func (l *Log) tell(err error) {
	switch changed := errors.Is(err, errMoved); {
	case changed && !errors.Is(l.trouble, errMoved):
		l.opts.Logger.Error("calls are refused, because somebody else changed their record", "err", err)
	case err != nil && l.trouble == nil:
		l.opts.Logger.Warn("the record of calls waits in the data directory until the store takes it", "err", err)
	case err == nil && l.trouble != nil:
		l.opts.Logger.Info("the store takes the record of calls again")
	}
	l.trouble = err
}

// tidy has the journal say that the store has the chain, and keeps it short.
func (l *Log) tidy(t *tip) error {
	if !t.journal.marked {
		err := t.journal.add(markLine(l.seal, t.reached))
		t.journal.marked = err == nil
		return err
	}
	if carried := t.journal.size.Load() - t.size; carried < max(mostCarried, t.size) {
		return nil
	}
	next, err := newJournal(l.opts.Dir, t.chain, markLine(l.seal, t.reached), t.left, l.opts.Full)
	if err != nil {
		return err
	}
	before := t.journal
	t.journal = next
	return before.remove()
}

// finish ends a chain that is in the store as a whole. When that fails, its
// journal is that of a dead process, of which the next one sees to it.
func (l *Log) finish(t *tip) error {
	if !t.cargo.begun { // a full disk took its beginning, and no record
		return t.journal.remove()
	}
	ctx, cancel := context.WithTimeout(l.storing, patience)
	defer cancel()
	if err := t.cargo.end(ctx); err != nil {
		return errors.Join(err, t.journal.leave())
	}
	return t.journal.remove()
}

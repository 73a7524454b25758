package audit

import (
	"context"
	"math"
	"time"
)

const (
	firstSweep = 10 * time.Second // after the first record
	sweepEvery = time.Hour
)

// runMaintenance is the keeper: it writes heads, carries what other processes have left,
// and applies retention, so that no caller waits for that.
func (l *Log) runMaintenance() {
	heads := time.NewTicker(l.opts.HeadEvery)
	defer heads.Stop()
	sweep := time.NewTimer(firstSweep)
	defer sweep.Stop()
	var noted point
	var witness chainObserver
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-heads.C:
			noted = l.noteHeads(&witness, noted)
			l.report("ending a chain of the audit log that is idle", l.endIdleChain())
		case <-sweep.C:
			l.Recover(l.ctx)
			l.report("applying the retention of the audit log", l.prune(l.ctx, l.key, l.now()))
			sweep.Reset(sweepEvery)
		}
	}
}

// noteHeads writes to the heads how far the store has the chain, and returns
// what they say.
func (l *Log) noteHeads(w *chainObserver, noted point) point {
	l.mu.Lock()
	at := point{}
	if l.current != nil {
		at = l.current.stored
	}
	l.mu.Unlock()
	id, stored := chainID(at.Chain)
	if !stored || at == noted {
		return noted
	}
	others, err := w.observe(l.ctx, l.rows, l.key.id(), id)
	if err == nil {
		err = l.note(l.ctx, l.key, append(others, at))
	}
	if l.report("noting the head of the audit log", err); err != nil {
		return noted
	}
	return at
}

// add writes to the heads how far chains have come.
func (l *Log) note(ctx context.Context, k key, at []point) error {
	return l.rows.Note(ctx, k.id(), 0, sealHeads(k, head{Kind: headReached, Chains: at}))
}

// endIdleChain ends a chain to which nothing was added for long, if all of it is in the
// store. The next record begins another.
func (l *Log) endIdleChain() error {
	l.mu.Lock()
	t := l.current
	if t == nil || len(t.pending) > 0 || l.now().Sub(t.lastTime) < idleAfter {
		l.mu.Unlock()
		return nil
	}
	l.current = nil
	l.mu.Unlock()
	return l.endChain(t)
}

// report tells the log what failed, unless we end.
func (l *Log) report(doing string, err error) {
	if err != nil && l.ctx.Err() == nil {
		l.opts.Logger.Warn(doing, "err", err)
	}
}

// A chainObserver looks how far the chains of other keys have come. What our key says
// of them can be checked here, also when theirs is not.
type chainObserver struct {
	since int64           // by the clock of the store
	seen  map[int64]int64 // chains since then, and how far they had come
}

// clockSlack is longer than a transaction takes, and seenEvery: what was added to a
// chain is seen when that is through, and says when it was not.
const clockSlack = time.Minute

// observe says it of those that were added to since it looked last, or since our
// chain was.
func (w *chainObserver) observe(ctx context.Context, rows rowStore, own string, chain int64) (at []point, err error) {
	if w.since == 0 {
		c, _, err := rows.Chain(ctx, chain)
		if err != nil {
			return nil, err
		}
		w.since = c.Seen
	}
	since := min(w.since, time.Now().UnixMilli()) // a clock that is set back puts it into the future
	before, from := w.seen, chainRow{Seen: since - clockSlack.Milliseconds(), ID: math.MinInt64}
	w.seen = map[int64]int64{}
	for len(at) < maxPoints-1 {
		list, err := rows.Seen(ctx, from.Seen, from.ID, pageSize)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			from, w.since, w.seen[c.ID] = c, max(w.since, c.Seen), c.Seq
			if c.Key != own && c.Seq > before[c.ID] {
				at = append(at, point{Chain: chainName(c.ID), Key: c.Key, Seq: uint64(c.Seq), Mark: c.Hash})
			}
		}
		if len(list) < pageSize {
			break
		}
	}
	return at, nil
}

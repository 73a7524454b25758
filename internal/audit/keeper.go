package audit

import (
	"context"
	"math"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ledger"
)

const (
	firstSweep = 10 * time.Second // after the first record
	sweepEvery = time.Hour
)

// keep is the Log's only goroutine, from the first record on: it writes heads
// and applies retention, so that no caller waits for that.
func (l *Log) keep(k key, chain int64) {
	defer close(l.done)
	heads := time.NewTicker(l.opts.HeadEvery)
	defer heads.Stop()
	sweep := time.NewTimer(firstSweep)
	defer sweep.Stop()
	var noted point
	witness := witness{chain: chain}
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-heads.C:
			l.mu.Lock()
			at := l.reached
			l.mu.Unlock()
			if at == noted {
				continue
			}
			others, err := witness.look(l.ctx, l.opts.Rows, k.id())
			if err == nil {
				err = l.note(l.ctx, k, 0, append(others, at))
			}
			if err == nil {
				noted = at
			}
			l.report("noting the head of the audit log", err)
		case <-sweep.C:
			l.report("applying the retention of the audit log", l.prune(l.ctx, k, l.now()))
			sweep.Reset(sweepEvery)
		}
	}
}

// note writes to the heads how far chains have come.
func (l *Log) note(ctx context.Context, k key, ended int64, at []point) error {
	return l.opts.Rows.Note(ctx, k.id(), ended, sealHeads(k, head{Kind: headReached, Chains: at}))
}

// end writes to the heads that the chain ends where it is.
func (l *Log) end(ctx context.Context, at point) error {
	at.End = true
	return l.note(ctx, l.key, l.w.chain.ID, []point{at})
}

func (l *Log) report(doing string, err error) {
	if err != nil && l.ctx.Err() == nil {
		l.opts.Logger.Warn(doing, "err", err)
	}
}

// A witness looks how far the chains of other keys have come. What our key says
// of them can be checked here, also when theirs is not.
type witness struct {
	chain int64           // our own
	since int64           // by the clock of the store
	seen  map[int64]int64 // chains since then, and how far they had come
}

// slack is longer than a transaction takes, and seenEvery: what was added to a
// chain is seen when that is through, and says when it was not.
const slack = time.Minute

func (w *witness) look(ctx context.Context, rows Reader, own string) (at []point, err error) {
	if w.since == 0 {
		c, _, err := rows.Chain(ctx, w.chain)
		if err != nil {
			return nil, err
		}
		w.since = c.Seen
	}
	before, from := w.seen, ledger.Chain{Seen: w.since - slack.Milliseconds(), ID: math.MinInt64}
	w.seen = map[int64]int64{}
	for len(at) < mostPoints-1 {
		list, err := rows.Seen(ctx, from.Seen, from.ID, pageOf)
		if err != nil {
			return nil, err
		}
		for _, c := range list {
			from, w.since, w.seen[c.ID] = c, max(w.since, c.Seen), c.Seq
			if c.Key != own && c.Seq > before[c.ID] {
				at = append(at, point{Chain: chainName(c.ID), Key: c.Key, Seq: uint64(c.Seq), Mark: c.Hash})
			}
		}
		if len(list) < pageOf {
			break
		}
	}
	return at, nil
}

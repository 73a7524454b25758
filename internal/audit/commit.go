package audit

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/ledger"
)

const (
	// patience is how long a write may take. With a database that is away,
	// calls fail after that.
	patience = 15 * time.Second
	// idle is how long a chain may go without a record until it is at its end:
	// the next record begins another. What was silent for longer by far is
	// nobody's, and retention may remove it to the last record.
	idle   = 12 * time.Hour
	silent = 3 * 24 * time.Hour
	// seenEvery is how often the store is told that a chain is added to.
	seenEvery = 10 * time.Second
	// mostWanted bounds what is known of writes that failed one after the other.
	mostWanted = 64
)

// A tip is the writing end of a Log. It belongs to the leader.
type tip struct {
	chain  ledger.Chain   // as the store has it; the number is 0 before the first record
	last   mark           // the link of its last line
	at     time.Time      // of its last record; never goes back
	bytes  int64          // of all its records
	wanted []ledger.Chain // what writes would have made of it whose outcome is not known
	buf    []byte         // for the next line
	rows   []ledger.Record
}

// commit writes the records of a batch in one transaction. Either all are in
// the chain afterwards, or none and the error is ErrBroken.
func (l *Log) commit(batch []*waiter) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now := l.now().UTC().Truncate(time.Microsecond)
	if err := l.ready(ctx, now); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	w := &l.w
	if now.Before(w.at) {
		now = w.at
	}
	to, last, size := w.chain, w.last, w.bytes
	w.rows = w.rows[:0]
	for _, one := range batch {
		to.Seq++
		w.buf, last = l.seal.seal(appendRow(w.buf[:0], uint64(to.Seq), now, one.fields), last)
		size += int64(len(w.buf))
		w.rows = append(w.rows, ledger.Record{
			Chain: to.ID, Seq: to.Seq, At: now.UnixMicro(), Who: one.who, What: one.what, Line: string(w.buf),
		})
	}
	to.Hash = last.String()
	if moment := now.UnixMilli(); moment-to.Seen >= seenEvery.Milliseconds() {
		to.Seen = moment
	}
	if err := l.write(ctx, to); err != nil {
		return fmt.Errorf("%w: %w", ErrBroken, err)
	}
	w.chain, w.last, w.at, w.bytes = to, last, now, size
	return nil
}

// write adds the rows to the chain. Of one that fails it is not known whether
// the store has it, when the way there was lost.
func (l *Log) write(ctx context.Context, to ledger.Chain) error {
	w := &l.w
	err := l.opts.Rows.Append(ctx, w.chain, to, w.rows)
	clear(w.rows) // lines that nobody needs any more
	switch {
	case err == nil:
		w.wanted = nil
	case errors.Is(err, ledger.ErrMoved):
		err = moved(w.chain.ID)
		fallthrough
	default:
		w.wanted = append(w.wanted[max(0, len(w.wanted)-mostWanted+1):], to)
	}
	return err
}

// ready sees to it that there is a chain, and that it is as we left it.
func (l *Log) ready(ctx context.Context, now time.Time) error {
	w := &l.w
	if len(w.wanted) > 0 {
		if err := l.settle(ctx); err != nil {
			return err
		}
	}
	if w.chain.ID != 0 && now.Sub(w.at) < idle {
		return nil
	}
	if w.chain.ID != 0 {
		if err := l.end(ctx, w.point()); err != nil {
			return err
		}
	}
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
	first := point{Chain: chainName(c.ID), Key: c.Key, Mark: c.Hash}
	if err := l.opts.Rows.Begin(ctx, c, sealHeads(l.key, head{Kind: headReached, Chains: []point{first}})); err != nil {
		return fmt.Errorf("beginning a chain: %w", err)
	}
	w.chain, w.at, w.bytes, w.wanted = c, now, 0, nil
	w.last, _ = parseMark(c.Hash)
	return nil
}

// settle finds out whether a write whose outcome is not known was done. If it
// was, its records stay, and those after them go on from there. A chain that is
// neither as it was before nor as it was to be was changed by somebody else:
// nothing is written until it is as it was, or a person starts the program
// again, because whoever can remove records would get a clean record for it.
func (l *Log) settle(ctx context.Context) error {
	w := &l.w
	got, found, err := l.opts.Rows.Chain(ctx, w.chain.ID)
	if err != nil {
		return err
	}
	if found && got.Seq == w.chain.Seq && got.Hash == w.chain.Hash {
		return nil // what we wanted may still come, until the next write is done
	}
	for _, c := range w.wanted {
		if found && got.Seq == c.Seq && got.Hash == c.Hash {
			w.chain, w.wanted = c, nil
			w.last, _ = parseMark(c.Hash)
			return nil
		}
	}
	return moved(w.chain.ID)
}

func moved(id int64) error {
	return fmt.Errorf("%w: the chain %s was removed or changed while it was written to; put it back, or start again", ledger.ErrMoved, chainName(id))
}

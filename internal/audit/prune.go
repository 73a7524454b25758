package audit

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// foreignAbandonedAfter is the time without new records until a chain of another key may be
// pruned. A running machine would do that itself.
const foreignAbandonedAfter = 30 * 24 * time.Hour

// prune applies the retention, and rewrites the heads when there are many.
func (l *Log) prune(ctx context.Context, k key, now time.Time) error {
	p := &pruner{rows: l.rows, key: k, dir: l.opts.Dir, seal: newSealer(k), now: now, report: l.report}
	if err := p.read(ctx); err != nil {
		return err
	}
	if l.opts.MaxAge > 0 {
		p.minTime = now.Add(-l.opts.MaxAge)
		if l.opts.MaxRecords > 0 && l.rows.base().Engine() == "sqlite" {
			at, err := l.rows.Recent(ctx, l.opts.MaxRecords)
			if err != nil {
				return err
			}
			if oldest := time.UnixMicro(at); oldest.After(p.minTime) {
				p.minTime = oldest
			}
		}
	}
	if err := p.remove(ctx); err != nil {
		return err
	}
	if err := p.dropDays(ctx); err != nil { // the days that are empty now
		return err
	}
	if err := p.read(ctx); err != nil || !p.sound || p.heads.count < rewriteHeadsAt {
		return err // keep the evidence
	}
	return p.rewrite(ctx)
}

// A pruner applies the retention once. It removes nothing that does not verify,
// because that is evidence.
type pruner struct {
	rows   rowStore
	key    key
	dir    string // of the key
	seal   *sealer
	now    time.Time
	report func(doing string, err error)
	heads  headIndex
	sound  bool // the heads verify

	minTime time.Time // older records are removed
}

func (p *pruner) read(ctx context.Context) (err error) {
	last, err := loadLastHead(p.dir)
	if err != nil {
		return err
	}
	p.sound = true
	p.heads, err = readHeads(ctx, p.rows, p.key.id(), p.seal, last, func(int64, Kind, string) { p.sound = false })
	return err
}

// remove prunes the chains that have old records, and those whose records were all
// removed before they ended.
func (p *pruner) remove(ctx context.Context) error {
	if p.minTime.IsZero() {
		return nil
	}
	if err := p.dropDays(ctx); err != nil {
		return err
	}
	list, err := p.rows.Earliest(ctx, p.minTime.UnixMicro())
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.heads.pruned)) {
		if id, ok := chainID(name); ok && !p.heads.pruned[name].End && !slices.Contains(list, id) {
			list = append(list, id)
		}
	}
	for _, id := range list {
		c, found, err := p.rows.Chain(ctx, id)
		if err != nil {
			return err
		}
		if !found || p.foreign(c) {
			continue
		}
		if err := p.pruneChain(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// foreign reports whether another key has the chain, and prunes it.
func (p *pruner) foreign(c chainRow) bool {
	return c.Key != p.key.id() && p.now.Sub(time.UnixMilli(c.Seen)) < foreignAbandonedAfter
}

// pruneChain removes the old records at the beginning of a chain, one page at a
// time.
func (p *pruner) pruneChain(ctx context.Context, c chainRow) error {
	w, at, ok := p.begin(c)
	for more := ok; more; {
		list, err := p.rows.Records(ctx, c.ID, int64(at.Seq), pageSize)
		if err != nil {
			return err
		}
		upTo := at
		for _, r := range list {
			row, fits := w.stepRow(r)
			if !fits {
				return p.skip(ctx, at)
			}
			if !row.Time.Before(p.minTime) { // of the line, not of a column
				more = false
				break
			}
			upTo.Seq, upTo.Mark, upTo.Bytes = w.number, w.last.String(), upTo.Bytes+int64(len(r.Line))
		}
		last := more && len(list) < pageSize
		upTo.End = last && p.ended(c) && int64(upTo.Seq) == c.Seq
		if upTo == at {
			return nil
		}
		if err := p.removeUpTo(ctx, c, upTo); err != nil {
			return err
		}
		at, more = upTo, more && !last
	}
	return nil
}

// begin returns a walker at the first record of a chain.
func (p *pruner) begin(c chainRow) (w walker, at point, ok bool) {
	w = walker{counter: rowLine, last: origin()}
	if c.Key == p.key.id() {
		w.seal = p.seal
	}
	if at, ok = p.heads.pruned[chainName(c.ID)]; ok {
		w.start(at)
		at.End = false // a recovered journal may have continued a removed chain
		return w, at, true
	}
	f, ok := parseLine([]byte(c.Line))
	if ok = ok && f.counter == firstLine && (w.seal == nil || w.seal.authentic(f)); ok {
		w.accept(sealedLine{line: f.line})
	}
	return w, point{Chain: chainName(c.ID), Key: c.Key, Mark: w.last.String()}, ok
}

// ended reports whether no process adds to a chain.
func (p *pruner) ended(c chainRow) bool {
	return c.Ended || p.now.Sub(time.UnixMilli(c.Seen)) > abandonedAfter
}

// removeUpTo removes the beginning of a chain, or all of it if it ends there.
func (p *pruner) removeUpTo(ctx context.Context, c chainRow, upTo point) error {
	err := headWriter{p.rows, p.key, p.dir}.add(ctx, func(seal headsFunc) error {
		return p.rows.Prune(ctx, p.key.id(), c.ID, int64(upTo.Seq), upTo.End, seal)
	}, head{Kind: headPruned, Chains: []point{upTo}})
	if errors.Is(err, errMoved) {
		return nil // another process was faster
	}
	if err == nil {
		p.heads.pruned[upTo.Chain] = upTo
	}
	return err
}

// skip keeps a chain that does not verify after a point, and logs that unless
// another process has removed the records at the same time.
func (p *pruner) skip(ctx context.Context, at point) error {
	if err := p.read(ctx); err != nil {
		return err
	}
	if p.heads.pruned[at.Chain].Seq <= at.Seq {
		p.report("old audit records are kept",
			fmt.Errorf("the chain %s does not verify after record %d; run mcp-tools audit verify", at.Chain, at.Seq))
	}
	return nil
}

// rewrite replaces the heads by a summary, unless other processes have added
// heads since they were read.
func (p *pruner) rewrite(ctx context.Context) error {
	heads := p.heads.rewritten()
	if len(heads) > p.heads.count/2 {
		return nil
	}
	changed := errors.New("heads were added")
	err := headWriter{p.rows, p.key, p.dir}.add(ctx, func(seal headsFunc) error {
		return p.rows.Rewrite(ctx, p.key.id(), func(last headRow, chains bool) ([]headRow, error) {
			if last.Number != p.heads.number {
				return nil, changed
			}
			return seal(last, chains)
		})
	}, heads...)
	if errors.Is(err, changed) {
		return nil
	}
	return err
}

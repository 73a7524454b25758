package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

const (
	rewriteHeadsAt = 2000 // number of heads that causes a rewrite
	maxPoints      = 500  // maximum in one head
	pageSize       = 500  // rows of one read
)

// A headKind is the kind of event that a head records.
type headKind string

const (
	headBegun     headKind = "begun"     // the first head
	headReached   headKind = "reached"   // the last records of chains
	headPruned    headKind = "pruned"    // the last records that retention removed
	headRewritten headKind = "rewritten" // the next heads summarize removed ones
)

// A head is a line of the chain of heads of a key.
type head struct {
	Head   uint64    `json:"head"` // number of the head; rewriting does not reset it
	Time   time.Time `json:"ts"`
	Kind   headKind  `json:"kind"`
	Chains []point   `json:"chains,omitempty"`
}

// A point is a place in a chain.
type point struct {
	Chain string `json:"chain"`
	Key   string `json:"key"` // id of the key of the chain
	Seq   uint64 `json:"seq"`
	Mark  string `json:"mark"`            // the hash of that line
	Bytes int64  `json:"bytes,omitempty"` // size of all records up to there
	End   bool   `json:"end,omitempty"`   // the chain ends there
}

// sealHeads returns a function that makes lines of heads. It adds a first head if there is
// none, unless there are chains: then the heads were removed, and Verify must detect this.
func sealHeads(k key, heads ...head) headsFunc {
	return func(last headRow, chains bool) (lines []headRow, err error) {
		s, prev, now := newSealer(k), origin(), time.Now().UTC()
		if last.Number > 0 {
			prev = linkOf([]byte(last.Line))
		} else if !chains {
			heads = append([]head{{Kind: headBegun}}, heads...)
		}
		for i, h := range heads {
			h.Head, h.Time = uint64(last.Number)+uint64(i)+1, now
			line := headRow{Key: k.id(), Number: int64(h.Head)}
			if line.Line, prev, err = s.sealJSON(h, prev); err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
		return lines, nil
	}
}

// A headIndex has the state of chains according to the heads of a key.
type headIndex struct {
	reached map[string]point
	pruned  map[string]point
	count   int   // number of heads
	number  int64 // of the last head
}

// removed reports whether retention removed the whole chain.
func (b headIndex) removed(chain string) bool {
	p, ok := b.pruned[chain]
	return ok && p.End && p.Seq >= b.reached[chain].Seq
}

// readHeads reads the heads of a key and calls problem for each mistake. Without
// a sealer it checks only the links. last is the last head that is known.
func readHeads(ctx context.Context, rows rowStore, key string, s *sealer, last lastHead,
	problem func(number int64, kind Kind, detail string)) (headIndex, error) {
	b := headIndex{reached: map[string]point{}, pruned: map[string]point{}}
	w := walker{counter: headLine, seal: s, last: origin()}
	for after := int64(math.MinInt64); ; {
		list, err := rows.Heads(ctx, key, after, pageSize)
		if err != nil {
			return b, fmt.Errorf("reading the heads of the audit log: %w", err)
		}
		for _, row := range list {
			after, b.number = row.Number, row.Number
			b.read(&w, row, problem)
			if last.Key == key && last.Number == row.Number && last.Mark != linkOf([]byte(row.Line)).String() {
				problem(row.Number, Changed, "this machine has written another head with this number: "+
					"the store was set back, and then used again")
			}
		}
		if len(list) < pageSize {
			if last.Key == key && b.number < last.Number {
				problem(0, Missing, last.setBack(b.number))
			}
			return b, nil
		}
	}
}

// read checks a head and adds its points.
func (b *headIndex) read(w *walker, row headRow, problem func(number int64, kind Kind, detail string)) {
	var h head
	f, ok := parseLine([]byte(row.Line))
	ok = ok && json.Unmarshal(f.line, &h) == nil
	if b.count++; b.count == 1 && ok && h.Kind != headBegun {
		if w.adopt = true; h.Kind != headRewritten {
			problem(row.Number, Missing, "the heads before it are missing")
		}
	}
	kind, detail := w.step(f, ok)
	if kind == "" && f.number != uint64(row.Number) {
		kind, detail = Changed, fmt.Sprintf("head %d is in its place", f.number)
	}
	if kind != "" {
		problem(row.Number, kind, detail)
		if kind != Missing {
			return
		}
	}
	b.add(h)
}

func (b headIndex) add(h head) {
	for _, p := range h.Chains {
		switch h.Kind {
		case headReached:
			keepFurthest(b.reached, p)
		case headPruned:
			keepFurthest(b.pruned, p)
		case headBegun, headRewritten:
		}
	}
}

// keepFurthest stores p unless a later point of the chain is known. Heads of
// concurrent writers may be out of order.
func keepFurthest(points map[string]point, p point) {
	if known, ok := points[p.Chain]; !ok || p.Seq > known.Seq || p.Seq == known.Seq && p.End {
		points[p.Chain] = p
	}
}

// rewritten returns heads that replace all heads: the last points of chains that
// retention has not removed.
func (b headIndex) rewritten() []head {
	heads := []head{{Kind: headRewritten}}
	for kind, points := range map[headKind]map[string]point{headReached: b.reached, headPruned: b.pruned} {
		var left []point
		for _, chain := range slices.Sorted(maps.Keys(points)) {
			if !b.removed(chain) {
				left = append(left, points[chain])
			}
		}
		for some := range slices.Chunk(left, maxPoints) {
			heads = append(heads, head{Kind: kind, Chains: some})
		}
	}
	return heads
}

const (
	firstSweep = 10 * time.Second // delay after the first record
	sweepEvery = time.Hour
)

// noteHead writes a head that says how far the store has the chain, if that is not noted and the last head is old
// enough. It returns how long until the next one is due, or 0 if nothing is to be noted.
func (l *Log) noteHead() (left time.Duration) {
	l.mu.Lock()
	at := l.current.stored
	l.mu.Unlock()
	if at == l.noted.point || at == (point{}) {
		return 0
	}
	if left := time.Until(l.noted.at.Add(l.opts.HeadEvery)); left > 0 {
		return left
	}
	err := l.note(l.ctx, l.key, []point{at})
	l.report("writing a head of the audit log", err)
	if l.noted.at = time.Now(); err != nil {
		return l.opts.HeadEvery
	}
	l.noted.point = at
	l.shareKey()
	return 0
}

// shareKey puts the key into the store for other machines, if that was not done. The store is there.
func (l *Log) shareKey() {
	if l.opts.Vault == nil || l.shared {
		return
	}
	err := l.opts.DB.share(l.ctx, l.opts.Vault, l.key)
	if l.shared = err == nil; err != nil {
		l.opts.Logger.Debug("the key of the audit log is not in the store", "err", err)
	}
}

// note writes a head with points of chains.
func (l *Log) note(ctx context.Context, k key, at []point) error {
	return headWriter{l.rows, k, l.opts.Dir}.add(ctx, func(seal headsFunc) error {
		return l.rows.Note(ctx, k.id(), 0, seal)
	}, head{Kind: headReached, Chains: at})
}

// report logs an error, unless the Log is being closed.
func (l *Log) report(doing string, err error) {
	if err != nil && l.ctx.Err() == nil {
		l.opts.Logger.Warn(doing, "err", err)
	}
}

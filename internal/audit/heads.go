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
	rewriteHeadsAt = 2000 // heads from which on they are rewritten
	maxPoints      = 500  // of a head
	pageSize       = 500  // rows that are read at once
)

// A headKind says what a head reports.
type headKind string

const (
	headBegun     headKind = "begun"     // the first of all
	headReached   headKind = "reached"   // chains had come so far
	headPruned    headKind = "pruned"    // retention removed chains so far
	headRewritten headKind = "rewritten" // what follows is what was still of use of the heads before
)

// A head is a line of its own chain, which has no other lines.
type head struct {
	Head   uint64    `json:"head"` // counts the heads of a key, also across a rewriting
	Time   time.Time `json:"ts"`
	Kind   headKind  `json:"kind"`
	Chains []point   `json:"chains,omitempty"`
}

// A point is a place in a chain.
type point struct {
	Chain string `json:"chain"`
	Key   string `json:"key"` // which key seals the chain
	Seq   uint64 `json:"seq"`
	Mark  string `json:"mark"`            // the link of the line there
	Bytes int64  `json:"bytes,omitempty"` // of all records up to there
	End   bool   `json:"end,omitempty"`   // the chain ends there
}

// sealHeads makes lines of heads. The first of all is preceded by one that says
// so, unless there are chains: then somebody removed the heads, and Verify must
// see that.
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

// A headIndex is what the heads of a key say about the chains.
type headIndex struct {
	reached map[string]point
	pruned  map[string]point
	count   int   // of heads
	number  int64 // of the last
}

// removed says whether retention removed the whole of a chain that the heads know.
func (b headIndex) removed(chain string) bool {
	p, ok := b.pruned[chain]
	return ok && p.End && p.Seq >= b.reached[chain].Seq
}

// readHeads reads the heads of a key and hands what is wrong with them to
// problem. Without a sealer only their links are checked.
func readHeads(ctx context.Context, rows rowStore, key string, s *sealer, problem func(number int64, kind Kind, detail string)) (headIndex, error) {
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
		}
		if len(list) < pageSize {
			return b, nil
		}
	}
}

// readLine judges a head and takes down what it says.
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
		kind, detail = Changed, fmt.Sprintf("head %d stands in its place", f.number)
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

// keepFurthest keeps the point of a chain that is furthest, whoever was faster.
func keepFurthest(points map[string]point, p point) {
	if known, ok := points[p.Chain]; !ok || p.Seq > known.Seq || p.Seq == known.Seq && p.End {
		points[p.Chain] = p
	}
}

// rewritten are heads that say what is still of use of a book: all but chains
// that retention removed, and but the last of each.
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

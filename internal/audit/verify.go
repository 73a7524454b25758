package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/text"
)

// A Report is the result of Verify.
type Report struct {
	Chains   int       `json:"chains"`
	Records  int       `json:"records"`          // that are valid
	Unread   int       `json:"unread,omitempty"` // by VerifyLatest, because newer ones were enough
	Bytes    int64     `json:"bytes"`
	Problems []Problem `json:"problems"` // the first 1,000
	More     int       `json:"more"`     // problems beyond those
	Notes    []Problem `json:"notes"`    // the parts that could not be checked
}

// OK reports whether there are no problems.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// A Problem is a mistake in the log.
type Problem struct {
	Chain  string `json:"chain"`            // or "heads", or the file of a journal
	Record uint64 `json:"record,omitempty"` // from 1; 0 for the whole chain
	Kind   Kind   `json:"kind"`
	Detail string `json:"detail"`
}

func (p Problem) String() string {
	if p.Record == 0 {
		return fmt.Sprintf("%s: %s: %s", p.Chain, p.Kind, p.Detail)
	}
	return fmt.Sprintf("%s:%d: %s: %s", p.Chain, p.Record, p.Kind, p.Detail)
}

const (
	maxProblems = 1000
	headsName   = "heads"
)

// Verify reads the whole log and reports signs of tampering; see the package comment. It uses
// the key in the data directory dir and the keys in the store that v opens, if it is not nil, and recovers the
// journals in dir first. An error means that the log could not be read. Other processes may write to the log at the
// same time.
func (db *DB) Verify(ctx context.Context, dir string, v Vault) (Report, error) {
	return db.verify(ctx, dir, v, math.MaxInt)
}

// VerifyLatest is Verify that reads only so many records, of the latest chains, and the last
// record of each other chain.
func (db *DB) VerifyLatest(ctx context.Context, dir string, v Vault, most int) (Report, error) {
	return db.verify(ctx, dir, v, most)
}

func (db *DB) verify(ctx context.Context, dir string, v Vault, most int) (Report, error) {
	c := &verification{most: most, others: map[string]*sealer{}, found: map[string]bool{}, linked: map[string]int{}}
	var err error
	if c.last, err = loadLastHead(dir); err != nil {
		return c.report, err
	}
	if db == nil { // there is no store
		if c.last.Number > 0 {
			c.problem(headsName, 0, Missing, c.last.setBack(0))
		}
		return c.report, nil
	}
	if c.report.Problems, err = db.Recover(ctx, dir); err != nil {
		return c.report, err
	}
	keys, err := db.keys(ctx, v)
	if err != nil {
		return c.report, err
	}
	for _, k := range keys {
		c.others[k.id()] = newSealer(k)
	}
	err = db.rows.Snapshot(ctx, func(rows rowStore) error {
		c.rows = rows
		return c.read(ctx, dir)
	})
	if err != nil {
		return c.report, err
	}
	c.checkEnds()
	c.addNotes()
	return c.report, nil
}

// A verification is the state of one Verify.
type verification struct {
	rows   rowStore
	most   int // records that may still be read; math.MaxInt for all
	last   lastHead
	key    string             // id of our key, or ""
	seal   *sealer            // nil without a key
	others map[string]*sealer // of the keys in the store
	heads  map[string]headIndex
	found  map[string]bool // chains
	ends   []chainEnd
	linked map[string]int // number of chains by other key
	open   []string       // chains without an end
	report Report
}

// A chainEnd is the end of a chain, to be compared with heads.
type chainEnd struct {
	chainRow
	name string
	seq  uint64 // of the last record
}

func (c *verification) problem(chain string, record uint64, kind Kind, detail string) {
	if len(c.report.Problems) == maxProblems {
		c.report.More++
		return
	}
	c.report.Problems = append(c.report.Problems, Problem{chain, record, kind, detail})
}

func (c *verification) note(chain string, kind Kind, detail string) {
	if len(c.report.Notes) == maxProblems {
		return
	}
	c.report.Notes = append(c.report.Notes, Problem{Chain: chain, Kind: kind, Detail: detail})
}

// read reads the log. It reads the key after the ids of keys, because the first
// process may have just created it.
func (c *verification) read(ctx context.Context, dir string) error {
	keys, err := c.rows.Keys(ctx)
	if err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	k, err := loadKey(dir)
	switch {
	case err == nil:
		c.key, c.seal = k.id(), newSealer(k)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if c.key != "" && !slices.Contains(keys, c.key) {
		keys = append(keys, c.key)
	}
	c.heads = map[string]headIndex{}
	for _, key := range keys {
		name := headsName
		if key != c.key {
			name += " of " + key
		}
		c.heads[key], err = readHeads(ctx, c.rows, key, c.sealerOf(key), c.last,
			func(number int64, kind Kind, detail string) { c.problem(name, uint64(number), kind, detail) })
		if err != nil {
			return err
		}
	}
	if err := c.walkAll(ctx); err != nil {
		return fmt.Errorf("reading the audit log: %w", err)
	}
	if c.most != math.MaxInt { // finding orphans reads all records
		return nil
	}
	orphans, err := c.rows.Orphans(ctx)
	for _, id := range orphans {
		c.problem(chainName(id), 0, Foreign, "the records of this chain have no chain")
	}
	return err
}

// sealerOf returns the sealer of a key, or nil if the key is missing.
func (c *verification) sealerOf(key string) *sealer {
	if key == c.key {
		return c.seal
	}
	return c.others[key]
}

// pruned returns the end of the part of a chain that retention removed. For chains of our key only heads of our key
// count; for chains of another available key only heads of available keys count; other chains may be removed by any
// machine.
func (c *verification) pruned(key, chain string) (p point, known bool) {
	points := map[string]point{}
	for of, book := range c.heads {
		if p, ok := book.pruned[chain]; ok && (of == c.key ||
			key != c.key && (c.sealerOf(of) != nil || c.sealerOf(key) == nil)) {
			keepFurthest(points, p)
		}
	}
	p, known = points[chain]
	return p, known
}

func (c *verification) walkAll(ctx context.Context) error {
	var all []chainRow
	for after := int64(math.MinInt64); ; {
		list, err := c.rows.Chains(ctx, after, pageSize)
		if err != nil {
			return err
		}
		for _, one := range list {
			after = one.ID
			if c.most < math.MaxInt {
				all = append(all, one)
			} else if err := c.walk(ctx, one); err != nil {
				return err
			}
		}
		if len(list) < pageSize {
			break
		}
	}
	for _, one := range slices.Backward(all) { // the latest first
		if err := c.walk(ctx, one); err != nil {
			return err
		}
	}
	return nil
}

// walk checks the records of one chain.
func (c *verification) walk(ctx context.Context, one chainRow) error {
	name := chainName(one.ID)
	w := &walker{counter: rowLine, seal: c.sealerOf(one.Key), last: origin()}
	c.report.Chains++
	c.found[name] = true
	c.begin(w, name, one)
	p, ok := c.pruned(one.Key, name)
	if ok {
		w.start(p)
	}
	after := int64(math.MinInt64)
	if c.most < math.MaxInt {
		first := max(int64(p.Seq), one.Seq-int64(max(c.most, 1))) // the records up to it are not read
		c.most -= int(max(0, one.Seq-first))
		if unread := first - int64(p.Seq); unread > 0 {
			c.report.Unread += int(unread)
			w.start(point{Seq: uint64(first)})
			after = first
		}
	}
	for {
		list, err := c.rows.Records(ctx, one.ID, after, pageSize)
		if err != nil {
			return err
		}
		for _, r := range list {
			after = r.Seq
			c.record(w, name, one, r)
		}
		if len(list) < pageSize {
			break
		}
	}
	c.ends = append(c.ends, chainEnd{one, name, w.number + w.bad}) // bad ones were reported
	return nil
}

// begin checks the first line of a chain.
func (c *verification) begin(w *walker, name string, one chainRow) {
	f, b, ok := parseBeginning([]byte(one.Line))
	p, known := c.heads[c.key].reached[name]
	switch {
	case !ok || b.Chain != name || b.Key != one.Key || w.seal != nil && !w.seal.authentic(f):
		c.problem(name, 0, Changed, "the first line was changed, or not written with this key")
		w.adopt = true
		return
	case known && p.Key != one.Key:
		c.problem(name, 0, Changed, fmt.Sprintf("the chain has the key %q, but %q in heads", one.Key, p.Key))
	case known && p.Seq == 0 && p.Mark != linkOf(f.line).String():
		c.problem(name, 0, Changed, "heads have another hash of the first line")
	}
	w.accept(sealedLine{line: f.line})
}

// record checks a record.
func (c *verification) record(w *walker, name string, one chainRow, r recordRow) {
	c.report.Bytes += int64(len(r.Line))
	if kind, detail, _ := w.judgeRow(r); kind != "" {
		c.problem(name, uint64(r.Seq), kind, detail)
		return
	}
	c.report.Records++
	if r.Seq == one.Seq && one.Hash != w.last.String() {
		c.problem(name, uint64(r.Seq), Changed, "the chain has another hash of this record")
	}
	if p := c.heads[one.Key].reached[name]; p.Seq == uint64(r.Seq) && p.Mark != w.last.String() {
		c.problem(name, uint64(r.Seq), Changed, "heads have another hash of this record")
	}
}

// checkEnds compares the ends of the chains with heads.
func (c *verification) checkEnds() {
	for _, end := range c.ends {
		p, known := c.heads[end.Key].reached[end.name]
		gone, _ := c.pruned(end.Key, end.name)
		if !known {
			c.problem(end.name, 0, Missing, "heads do not contain this chain")
		}
		if most := max(p.Seq, uint64(max(end.Seq, 0))); end.seq < most && gone.Seq < most {
			c.problem(end.name, 0, Missing, fmt.Sprintf("the chain ends with record %d, but had %d", end.seq, most))
		}
		if !p.End {
			c.open = append(c.open, end.name)
		}
		if c.sealerOf(end.Key) == nil {
			c.linked[end.Key]++
		}
	}
	reported := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(c.heads)) {
		for _, name := range slices.Sorted(maps.Keys(c.heads[key].reached)) {
			if c.found[name] || reported[name] {
				continue
			}
			p := c.heads[key].reached[name]
			if pruned, ok := c.pruned(p.Key, name); ok && pruned.End && pruned.Seq >= p.Seq {
				continue
			}
			reported[name] = true
			c.problem(name, 0, Missing, fmt.Sprintf("the whole chain is missing; it had %d records", p.Seq))
		}
	}
}

// addNotes adds notes about the parts that could not be checked.
func (c *verification) addNotes() {
	if c.seal == nil && len(c.linked) > 0 {
		c.problem(keyName, 0, NoKey, "there is no key in the data directory, so only links were checked; "+
			"copy it from the machine that wrote the log")
	}
	for _, key := range slices.Sorted(maps.Keys(c.linked)) {
		c.note(headsName+" of "+key, OtherKey, fmt.Sprintf(
			"%d chains are sealed with the key %s, which is missing: only their links were checked", c.linked[key],
			key))
	}
	if c.seal != nil && c.heads[c.key].count == 0 && c.last.Number == 0 {
		c.note(headsName, Missing, "nothing is sealed with the key: no call was recorded on this machine, "+
			"or the log and "+headName+" were removed")
	}
	if n := len(c.open); n > 0 {
		c.note(c.open[n-1], Unended, fmt.Sprintf("this is the latest of %s whose process still runs or was killed: "+
			"records after the last head of a chain could be removed without a trace", text.Plural(n, "chain")))
	}
}

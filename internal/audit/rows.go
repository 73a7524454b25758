package audit

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Topic is the feed topic of new records. Each batch that a process copies to the store is one change.
const Topic = "audit"

// A DB is the audit log in a store. A nil DB is an empty log.
type DB struct {
	rows  rowStore
	store *store.Store
}

// NewDB returns the audit log that is kept in s.
func NewDB(s *store.Store) *DB { return &DB{&storeRows{store: s}, s} }

// A chainRow is one chain: the records of one process since its start.
type chainRow struct {
	ID    int64  // sorts by the time of the start
	Key   string // id of the key
	Line  string // its first line
	Seq   int64  // of the last record
	Hash  string // link of that record
	Seen  int64  // when about it was last changed, in milliseconds
	Ended bool   // ended by its process
}

// A recordRow is a record: its line, and columns to find it.
type recordRow struct {
	Chain, Seq int64
	At         int64  // in microseconds, by the clock of the writer
	Who        int64  // hash of tool and caller; 0 if not counted
	What       string // digest of the arguments
	Line       string
}

// position returns where a record stands in the order of time.
func (r recordRow) position() position { return position{r.At, r.Chain, r.Seq} }

// A position is a place in the order of all records by time.
type position struct{ At, Chain, Seq int64 }

// A headRow is a head: a line that says how far chains are. All processes with
// the same key add to one chain of heads.
type headRow struct {
	Key    string
	Number int64
	Line   string
}

// A headsFunc returns the next heads of a key. last is zero if there are none.
// It is called under a lock.
type headsFunc func(last headRow, chains bool) ([]headRow, error)

// errMoved means that a chain is not as expected, and nothing was added.
var errMoved = errors.New("the chain is not as expected")

// rowStore reads and writes the rows of the log. Each call is a transaction of
// its own. Tests make it fail.
type rowStore interface {
	Begin(ctx context.Context, c chainRow, seal headsFunc) error
	Append(ctx context.Context, from, to chainRow, records []recordRow) error
	Note(ctx context.Context, key string, ended int64, seal headsFunc) error
	Prune(ctx context.Context, key string, chain, last int64, whole bool, seal headsFunc) error
	Rewrite(ctx context.Context, key string, seal headsFunc) error
	Chain(ctx context.Context, id int64) (c chainRow, found bool, err error)
	Chains(ctx context.Context, after int64, limit int) ([]chainRow, error)
	Seen(ctx context.Context, since, after int64, limit int) ([]chainRow, error)
	Orphans(ctx context.Context) (chains []int64, err error)
	Records(ctx context.Context, chain, after int64, limit int) ([]recordRow, error)
	After(ctx context.Context, p position, limit int) ([]recordRow, error)
	Before(ctx context.Context, p position, limit int) ([]recordRow, error)
	Earliest(ctx context.Context, before int64) (chains []int64, err error)
	Recent(ctx context.Context, n int) (at int64, err error)
	Count(ctx context.Context, who int64, what string) (same, all int, err error)
	Keys(ctx context.Context) ([]string, error)
	Heads(ctx context.Context, key string, after int64, limit int) ([]headRow, error)
	// MakeDays prepares tables for the records of the days after a time.
	MakeDays(ctx context.Context, after time.Time) error
	// Days returns the days that have a table of their own, the first one first.
	Days(ctx context.Context) ([]day, error)
	// Ends returns the last record and the number of records of each chain on a day that has a table.
	Ends(ctx context.Context, d day) ([]dayEnd, error)
	// Drop adds heads, removes the records up to the records of ends, with the table of a day, and the chains that
	// end there. If the table has other records, or a chain goes on, the error is errMoved.
	Drop(ctx context.Context, key string, d day, ends []dayEnd, seal headsFunc) error
	// base is the store of the rows.
	base() *store.Store
	// Snapshot calls f with rows that other transactions do not change.
	Snapshot(ctx context.Context, f func(rowStore) error) error
}

// storeRows are the rows of a store.
type storeRows struct {
	store    *store.Store
	snapshot *store.Tx // if not nil, all reads are in this transaction
}

func (s *storeRows) base() *store.Store { return s.store }

// Snapshot reads in one transaction.
func (s *storeRows) Snapshot(ctx context.Context, f func(rowStore) error) error {
	return s.store.View(ctx, func(t *store.Tx) error { return f(&storeRows{s.store, t}) })
}

// Begin adds a chain without records, and heads.
func (s *storeRows) Begin(ctx context.Context, c chainRow, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		if err := addHeads(t, c.Key, seal); err != nil {
			return err
		}
		_, err := t.Exec("INSERT INTO audit_chain (id, key, line, seq, hash, seen) VALUES ($1, $2, $3, $4, $5, "+
			"{{now}})",
			c.ID, c.Key, c.Line, c.Seq, c.Hash)
		return err
	})
}

// Updating seen writes one more page of an index.
const (
	advance     = "UPDATE audit_chain SET seq = $1, hash = $2 WHERE id = $3 AND seq = $4 AND hash = $5"
	advanceSeen = "UPDATE audit_chain SET seq = $1, hash = $2, seen = {{now}} WHERE id = $3 AND seq = $4 AND hash = $5"
)

// Append adds records to the chain from. The chain becomes to. Append sets seen if it differs.
// If the chain in the store is not equal to from the error is errMoved.
func (s *storeRows) Append(ctx context.Context, from, to chainRow, records []recordRow) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		text := advance
		if from.Seen != to.Seen {
			text = advanceSeen
		}
		n, err := t.Exec(text, to.Seq, to.Hash, from.ID, from.Seq, from.Hash)
		if err == nil && n != 1 {
			err = errMoved
		}
		if err != nil {
			return err
		}
		rows := make([][]any, len(records))
		for i, r := range records {
			rows[i] = []any{r.Chain, r.Seq, r.At, r.Who, r.What, r.Line}
		}
		return errors.Join(t.Insert("audit_record (chain, seq, at, who, what, line)", rows), t.Changed(Topic, ""))
	})
}

// Note adds heads, and marks a chain as ended unless ended is 0.
func (s *storeRows) Note(ctx context.Context, key string, ended int64, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		if err := addHeads(t, key, seal); err != nil || ended == 0 {
			return err
		}
		_, err := t.Exec("UPDATE audit_chain SET ended = TRUE WHERE id = $1", ended)
		return err
	})
}

// Prune adds heads and removes the records of a chain up to last. If whole is
// set it removes the chain too; if that has other records the error is errMoved.
func (s *storeRows) Prune(ctx context.Context, key string, chain, last int64, whole bool, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		if err := addHeads(t, key, seal); err != nil {
			return err
		}
		if whole {
			n, err := t.Exec("DELETE FROM audit_chain WHERE id = $1 AND seq = $2", chain, last)
			if err == nil && n != 1 {
				err = errMoved
			}
			if err != nil {
				return err
			}
		}
		_, err := t.Exec("DELETE FROM audit_record WHERE chain = $1 AND seq <= $2", chain, last)
		return err
	})
}

// Rewrite adds heads and removes all heads before them.
func (s *storeRows) Rewrite(ctx context.Context, key string, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		var first int64
		err := addHeads(t, key, func(last headRow, chains bool) ([]headRow, error) {
			first = last.Number
			return seal(last, chains)
		})
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM audit_head WHERE key = $1 AND number <= $2", key, first)
		return err
	})
}

// addHeads adds the heads that seal returns, under the lock of heads.
func addHeads(t *store.Tx, key string, seal headsFunc) error {
	if err := t.Lock("audit heads"); err != nil {
		return err
	}
	var last headRow
	err := t.Row("SELECT key, number, line FROM audit_head WHERE key = $1 ORDER BY number DESC LIMIT 1", []any{key},
		&last.Key, &last.Number, &last.Line)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	var chains bool
	if err := t.Row("SELECT EXISTS (SELECT 1 FROM audit_chain WHERE key = $1)", []any{key}, &chains); err != nil {
		return err
	}
	heads, err := seal(last, chains)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if _, err := t.Exec("INSERT INTO audit_head (key, number, line) VALUES ($1, $2, $3)", key, h.Number,
			h.Line); err != nil {
			return err
		}
	}
	return nil
}

// list returns all rows of a query.
func list[T any](ctx context.Context, s *storeRows, scan func(store.Scan) (T, error), text string,
	args ...any) ([]T, error) {
	if s.snapshot != nil {
		return store.List(s.snapshot, text, args, scan)
	}
	return store.Select(ctx, s.store, text, args, scan)
}

func scanChain(scan store.Scan) (c chainRow, err error) {
	err = scan(&c.ID, &c.Key, &c.Line, &c.Seq, &c.Hash, &c.Seen, &c.Ended)
	return c, err
}

const selectChains = "SELECT id, key, line, seq, hash, seen, ended FROM audit_chain "

// Chain returns one chain.
func (s *storeRows) Chain(ctx context.Context, id int64) (c chainRow, found bool, err error) {
	rows, err := list(ctx, s, scanChain, selectChains+"WHERE id = $1", id)
	if len(rows) == 1 {
		return rows[0], true, err
	}
	return c, false, err
}

// Chains returns the chains after one, in the order of their start.
func (s *storeRows) Chains(ctx context.Context, after int64, limit int) ([]chainRow, error) {
	return list(ctx, s, scanChain, selectChains+"WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
}

// Seen returns the chains after (since, after) in the order of (seen, id).
func (s *storeRows) Seen(ctx context.Context, since, after int64, limit int) ([]chainRow, error) {
	return list(ctx, s, scanChain, selectChains+"WHERE (seen, id) > ($1, $2) ORDER BY seen, id LIMIT $3", since,
		after, limit)
}

// Orphans returns the numbers of chains that records have although there is no
// such chain.
func (s *storeRows) Orphans(ctx context.Context) (chains []int64, err error) {
	return list(ctx, s, store.One[int64], `SELECT chain FROM audit_record
		WHERE chain NOT IN (SELECT id FROM audit_chain) GROUP BY chain ORDER BY chain`)
}

func scanRecord(scan store.Scan) (r recordRow, err error) {
	err = scan(&r.Chain, &r.Seq, &r.At, &r.Who, &r.What, &r.Line)
	return r, err
}

const selectRecords = "SELECT chain, seq, at, who, what, line FROM audit_record "

// Records returns the records of a chain after one.
func (s *storeRows) Records(ctx context.Context, chain, after int64, limit int) ([]recordRow, error) {
	return list(ctx, s, scanRecord, selectRecords+"WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3", chain, after,
		limit)
}

// After returns the records of all chains after a position.
func (s *storeRows) After(ctx context.Context, p position, limit int) ([]recordRow, error) {
	const where = "WHERE (at, chain, seq) > ($1, $2, $3) ORDER BY at, chain, seq LIMIT $4"
	return list(ctx, s, scanRecord, selectRecords+where, p.At, p.Chain, p.Seq, limit)
}

// Before returns the records of all chains before a position, the latest first.
func (s *storeRows) Before(ctx context.Context, p position, limit int) ([]recordRow, error) {
	const where = "WHERE (at, chain, seq) < ($1, $2, $3) ORDER BY at DESC, chain DESC, seq DESC LIMIT $4"
	return list(ctx, s, scanRecord, selectRecords+where, p.At, p.Chain, p.Seq, limit)
}

// The sum keeps SQLite from grouping by the primary key: that would read all records. Instead
// it reads the early ones in the index by time.
const earliest = "SELECT chain, min(at) FROM audit_record WHERE at < $1 GROUP BY chain + 0, chain ORDER BY 2, 1"

// Earliest returns the chains with records before a time, sorted by the time of
// their first record.
func (s *storeRows) Earliest(ctx context.Context, before int64) (chains []int64, err error) {
	return list(ctx, s, func(scan store.Scan) (chain int64, err error) {
		var at int64
		err = scan(&chain, &at)
		return chain, err
	}, earliest, before)
}

// Recent returns the time of the nth latest record, or 0 if there are fewer.
func (s *storeRows) Recent(ctx context.Context, n int) (at int64, err error) {
	err = s.store.Row(ctx, "SELECT at FROM audit_record ORDER BY at DESC LIMIT 1 OFFSET $1", []any{n - 1}, &at)
	if errors.Is(err, store.ErrNotFound) {
		return 0, nil
	}
	return at, err
}

// Count returns the number of records of a tool and caller, and how many of them
// have the arguments.
func (s *storeRows) Count(ctx context.Context, who int64, what string) (same, all int, err error) {
	const text = `SELECT count(*), coalesce(sum(CASE WHEN what = $2 THEN 1 ELSE 0 END), 0)
		FROM audit_record WHERE who = $1 AND who <> 0`
	err = s.store.Row(ctx, text, []any{who, what}, &all, &same)
	return same, all, err
}

// Keys returns the ids of all keys that have heads, sorted.
func (s *storeRows) Keys(ctx context.Context) ([]string, error) {
	keys, err := list(ctx, s, store.One[string], "SELECT DISTINCT key FROM audit_head")
	slices.Sort(keys)
	return keys, err
}

// Heads returns the heads of a key after one.
func (s *storeRows) Heads(ctx context.Context, key string, after int64, limit int) ([]headRow, error) {
	const text = "SELECT number, line FROM audit_head WHERE key = $1 AND number > $2 ORDER BY number LIMIT $3"
	return list(ctx, s, func(scan store.Scan) (headRow, error) {
		h := headRow{Key: key}
		err := scan(&h.Number, &h.Line)
		return h, err
	}, text, key, after, limit)
}

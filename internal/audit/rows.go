package audit

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// A DB is the audit log in a store. A nil DB is an empty log.
type DB struct{ rows rowStore }

// NewDB returns the audit log that is kept in s.
func NewDB(s *store.Store) *DB {
	rows := &storeRows{store: s, maxPower: 3} // SQLite looks parameters up by name, one after the other
	if s.Engine() == "postgres" {
		rows.maxPower = 7
	}
	return &DB{rows}
}

// A chainRow is the record of one process since one start.
type chainRow struct {
	ID    int64  // sorts by the time of its start
	Key   string // names the key that seals it
	Line  string // how it begins: a sealed line
	Seq   int64  // of its last record
	Hash  string // of the line of that record
	Seen  int64  // about when it was last added to, in milliseconds by the store's clock
	Ended bool   // its process has ended it
}

// A recordRow is a line of a chain, and the columns by which it is found.
type recordRow struct {
	Chain, Seq int64
	At         int64  // when it was written, in microseconds by the writer's clock
	Who        int64  // stands for a tool and whom it was called for; 0 where nobody will ask
	What       string // the digest of the arguments, where who is not 0
	Line       string
}

// position returns where a record stands in the order of time.
func (r recordRow) position() position { return position{r.At, r.Chain, r.Seq} }

// A position is one in the order of time, in which records of all chains are read.
type position struct{ At, Chain, Seq int64 }

// A headRow is a line that says of chains how far they have come. Those of a key
// are a chain themselves, which all processes that have the key write to.
type headRow struct {
	Key    string
	Number int64
	Line   string
}

// A headsFunc makes the lines that come after the last head of a key, which is zero
// when there is none. It is called while nobody else adds heads of that key.
type headsFunc func(last headRow, chains bool) ([]headRow, error)

// errMoved is why nothing was added to a chain: it is not as it was left.
var errMoved = errors.New("the chain is not as it was left")

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
	NextChain(ctx context.Context, after int64) (id int64, found bool, err error)
	Records(ctx context.Context, chain, after int64, limit int) ([]recordRow, error)
	After(ctx context.Context, p position, limit int) ([]recordRow, error)
	Before(ctx context.Context, p position, limit int) ([]recordRow, error)
	Earliest(ctx context.Context, before int64) (chains []int64, err error)
	Count(ctx context.Context, who int64, what string) (same, all int, err error)
	Keys(ctx context.Context) ([]string, error)
	Heads(ctx context.Context, key string, after int64, limit int) ([]headRow, error)
}

// storeRows are the rows of a store.
type storeRows struct {
	store    *store.Store
	maxPower int      // an INSERT has at most 1<<maxPower records
	inserts  sync.Map // statements by power
}

// Begin adds a chain that has no records yet, and the heads that say so.
func (s *storeRows) Begin(ctx context.Context, c chainRow, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		if err := addHeads(t, c.Key, seal); err != nil {
			return err
		}
		_, err := t.Exec("INSERT INTO audit_chain (id, key, line, seq, hash, seen) VALUES ($1, $2, $3, $4, $5, {{now}})",
			c.ID, c.Key, c.Line, c.Seq, c.Hash)
		return err
	})
}

// To say that a chain was seen costs a page of an index more.
const (
	advance     = "UPDATE audit_chain SET seq = $1, hash = $2 WHERE id = $3 AND seq = $4 AND hash = $5"
	advanceSeen = "UPDATE audit_chain SET seq = $1, hash = $2, seen = {{now}} WHERE id = $3 AND seq = $4 AND hash = $5"
)

// Append adds records to a chain that was left at from, so that it is as to
// says, and was seen now if that differs. Without such a chain it adds nothing, and the error is
// [errMoved].
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
		return s.insert(t, records)
	})
}

// insert writes records in statements of a few sizes, so that the engines cache
// few statements.
func (s *storeRows) insert(t *store.Tx, records []recordRow) error {
	args := make([]any, 0, recordColumns*min(len(records), 1<<s.maxPower))
	for power := s.maxPower; power >= 0; {
		n := 1 << power
		if len(records) < n {
			power--
			continue
		}
		args = args[:0]
		for _, r := range records[:n] {
			args = append(args, r.Chain, r.Seq, r.At, r.Who, r.What, r.Line)
		}
		if _, err := t.Exec(s.insertText(power), args...); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

const recordColumns = 6

// insertText returns the statement that inserts 1<<power records.
func (s *storeRows) insertText(power int) string {
	text, _ := s.inserts.LoadOrStore(power, sync.OnceValue(func() string {
		var args []any
		rows := make([]string, 1<<power)
		for i := range rows {
			rows[i] = "(" + store.Params(&args, make([]any, recordColumns)...) + ")"
		}
		return "INSERT {{fail}}INTO audit_record (chain, seq, at, who, what, line) VALUES " + strings.Join(rows, ", ")
	}))
	return text.(func() string)()
}

// Note adds heads of a key. A chain that is named with it has ended.
func (s *storeRows) Note(ctx context.Context, key string, ended int64, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		if err := addHeads(t, key, seal); err != nil || ended == 0 {
			return err
		}
		_, err := t.Exec("UPDATE audit_chain SET ended = TRUE WHERE id = $1", ended)
		return err
	})
}

// Prune removes the records of a chain up to one, and the chain itself when
// that was its last and it is to go, once the heads that say so are there.
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

// Rewrite adds heads and removes those before them.
func (s *storeRows) Rewrite(ctx context.Context, key string, seal headsFunc) error {
	return s.store.Update(ctx, func(t *store.Tx) error {
		before, err := lastHead(t, key)
		if err == nil {
			err = addHeads(t, key, seal)
		}
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM audit_head WHERE key = $1 AND number <= $2", key, before.Number)
		return err
	})
}

// addHeads makes others wait who add heads, and adds those that seal makes.
func addHeads(t *store.Tx, key string, seal headsFunc) error {
	if err := t.Lock("audit heads"); err != nil {
		return err
	}
	last, err := lastHead(t, key)
	if err != nil {
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
		if _, err := t.Exec("INSERT INTO audit_head (key, number, line) VALUES ($1, $2, $3)", key, h.Number, h.Line); err != nil {
			return err
		}
	}
	return nil
}

func lastHead(t *store.Tx, key string) (h headRow, err error) {
	err = t.Row("SELECT key, number, line FROM audit_head WHERE key = $1 ORDER BY number DESC LIMIT 1", []any{key}, &h.Key, &h.Number, &h.Line)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return h, err
}

const selectChains = "SELECT id, key, line, seq, hash, seen, ended FROM audit_chain "

// Chain is one chain, or [store.ErrNotFound].
func (s *storeRows) Chain(ctx context.Context, id int64) (c chainRow, found bool, err error) {
	list, err := s.chains(ctx, "WHERE id = $1", id)
	if len(list) == 1 {
		return list[0], true, err
	}
	return c, false, err
}

// Chains are those after one, in the order of their start.
func (s *storeRows) Chains(ctx context.Context, after int64, limit int) ([]chainRow, error) {
	return s.chains(ctx, "WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
}

// Seen are the chains that were added to since a moment, the earliest first, of
// those of that very moment only those after one.
func (s *storeRows) Seen(ctx context.Context, since, after int64, limit int) ([]chainRow, error) {
	return s.chains(ctx, "WHERE (seen, id) > ($1, $2) ORDER BY seen, id LIMIT $3", since, after, limit)
}

func (s *storeRows) chains(ctx context.Context, which string, args ...any) (list []chainRow, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		return t.Each(selectChains+which, args, func(scan func(...any) error) error {
			var c chainRow
			if err := scan(&c.ID, &c.Key, &c.Line, &c.Seq, &c.Hash, &c.Seen, &c.Ended); err != nil {
				return err
			}
			list = append(list, c)
			return nil
		})
	})
	return list, err
}

// NextChain is the next number under which there are records, whether there is
// such a chain or not.
func (s *storeRows) NextChain(ctx context.Context, after int64) (id int64, found bool, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		return t.Row("SELECT chain FROM audit_record WHERE chain > $1 ORDER BY chain LIMIT 1", []any{after}, &id)
	})
	if errors.Is(err, store.ErrNotFound) {
		return 0, false, nil
	}
	return id, err == nil, err
}

const selectRecords = "SELECT chain, seq, at, who, what, line FROM audit_record "

// Records are those of a chain after one, in their order.
func (s *storeRows) Records(ctx context.Context, chain, after int64, limit int) ([]recordRow, error) {
	return s.records(ctx, "WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3", chain, after, limit)
}

// After are the records of all chains after a place, by time.
func (s *storeRows) After(ctx context.Context, p position, limit int) ([]recordRow, error) {
	return s.records(ctx, "WHERE (at, chain, seq) > ($1, $2, $3) ORDER BY at, chain, seq LIMIT $4", p.At, p.Chain, p.Seq, limit)
}

// Before are the records of all chains before a place, the latest first.
func (s *storeRows) Before(ctx context.Context, p position, limit int) ([]recordRow, error) {
	return s.records(ctx, "WHERE (at, chain, seq) < ($1, $2, $3) ORDER BY at DESC, chain DESC, seq DESC LIMIT $4", p.At, p.Chain, p.Seq, limit)
}

func (s *storeRows) records(ctx context.Context, which string, args ...any) (list []recordRow, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		return t.Each(selectRecords+which, args, func(scan func(...any) error) error {
			var r recordRow
			if err := scan(&r.Chain, &r.Seq, &r.At, &r.Who, &r.What, &r.Line); err != nil {
				return err
			}
			list = append(list, r)
			return nil
		})
	})
	return list, err
}

// The sum keeps SQLite from reading all records in the order of chains: by time
// it reads those only that are early enough, of an index that has all it needs.
const earliest = "SELECT chain, min(at) FROM audit_record WHERE at < $1 GROUP BY chain + 0, chain ORDER BY 2, 1"

// Earliest is the first record of a chain in each chain that has one before a
// moment: the numbers of these chains, those first that begin first.
func (s *storeRows) Earliest(ctx context.Context, before int64) (chains []int64, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		return t.Each(earliest, []any{before}, func(scan func(...any) error) error {
			var chain, at int64
			if err := scan(&chain, &at); err != nil {
				return err
			}
			chains = append(chains, chain)
			return nil
		})
	})
	return chains, err
}

// Count says how many records there are of a tool and whom it was called for,
// and how many of them had the same arguments.
func (s *storeRows) Count(ctx context.Context, who int64, what string) (same, all int, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		const text = "SELECT count(*), coalesce(sum(CASE WHEN what = $2 THEN 1 ELSE 0 END), 0) FROM audit_record WHERE who = $1 AND who <> 0"
		return t.Row(text, []any{who, what}, &all, &same)
	})
	return same, all, err
}

// Keys are the names of all keys that have heads.
func (s *storeRows) Keys(ctx context.Context) (keys []string, err error) {
	err = s.store.View(ctx, func(t *store.Tx) error {
		return t.Each("SELECT DISTINCT key FROM audit_head", nil, func(scan func(...any) error) error {
			var key string
			if err := scan(&key); err != nil {
				return err
			}
			keys = append(keys, key)
			return nil
		})
	})
	slices.Sort(keys)
	return keys, err
}

// Heads are the heads of a key after one, in their order.
func (s *storeRows) Heads(ctx context.Context, key string, after int64, limit int) (list []headRow, err error) {
	const text = "SELECT number, line FROM audit_head WHERE key = $1 AND number > $2 ORDER BY number LIMIT $3"
	err = s.store.View(ctx, func(t *store.Tx) error {
		return t.Each(text, []any{key, after, limit}, func(scan func(...any) error) error {
			h := headRow{Key: key}
			if err := scan(&h.Number, &h.Line); err != nil {
				return err
			}
			list = append(list, h)
			return nil
		})
	})
	return list, err
}

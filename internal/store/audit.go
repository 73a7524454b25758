package store

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/ledger"
)

// Audit are the rows of the record of calls.
type Audit struct {
	store   *Store
	inserts func() []string // of 1, 2, 4, ... records
}

// Audit gives access to the record of calls.
func (s *Store) Audit() *Audit {
	most := 8 // SQLite finds parameters by their names, one after the other
	if s.dialect.name == "postgres" {
		most = 128
	}
	return &Audit{s, sync.OnceValue(func() (texts []string) {
		for n := 1; n <= most; n *= 2 {
			texts = append(texts, recordTable().insert(n))
		}
		return texts
	})}
}

func recordTable() Table {
	return Table{Name: "audit_record", Columns: []Column{
		{"chain", Int}, {"seq", Int}, {"at", Int}, {"who", Int}, {"what", Text}, {"line", Text},
	}}
}

// Begin adds a chain that has no records yet, and the heads that say so.
func (a *Audit) Begin(ctx context.Context, c ledger.Chain, seal ledger.Seal) error {
	return a.store.Update(ctx, func(t *Tx) error {
		if err := t.addHeads(c.Key, seal); err != nil {
			return err
		}
		_, err := t.Exec("INSERT INTO audit_chain (id, key, line, seq, hash, seen) VALUES ($1, $2, $3, $4, $5, {{now}})",
			c.ID, c.Key, c.Line, c.Seq, c.Hash)
		return err
	})
}

// Append adds records to a chain that was left at from, so that it is as to
// says. Without such a chain it adds nothing, and the error is
// [ledger.ErrMoved].
func (a *Audit) Append(ctx context.Context, from, to ledger.Chain, records []ledger.Record) error {
	return a.store.Update(ctx, func(t *Tx) error {
		n, err := t.run("UPDATE audit_chain SET seq = $1, hash = $2, seen = {{now}} WHERE id = $3 AND seq = $4 AND hash = $5",
			to.Seq, to.Hash, from.ID, from.Seq, from.Hash)
		if err == nil && n != 1 {
			err = ledger.ErrMoved
		}
		if err != nil {
			return err
		}
		return a.insert(t, records)
	})
}

// insert writes records in as few statements as there are powers of two in
// their number, so that the engines need to know few statements.
func (a *Audit) insert(t *Tx, records []ledger.Record) error {
	texts := a.inserts()
	args := make([]any, 0, 6*min(len(records), 1<<(len(texts)-1)))
	for power := len(texts) - 1; power >= 0; {
		n := 1 << power
		if len(records) < n {
			power--
			continue
		}
		args = args[:0]
		for _, r := range records[:n] {
			args = append(args, r.Chain, r.Seq, r.At, r.Who, r.What, r.Line)
		}
		if _, err := t.run(texts[power], args...); err != nil {
			return err
		}
		records = records[n:]
	}
	return nil
}

// Note adds heads of a key. A chain that is named with it has ended.
func (a *Audit) Note(ctx context.Context, key string, ended int64, seal ledger.Seal) error {
	return a.store.Update(ctx, func(t *Tx) error {
		if err := t.addHeads(key, seal); err != nil || ended == 0 {
			return err
		}
		_, err := t.Exec("UPDATE audit_chain SET ended = TRUE WHERE id = $1", ended)
		return err
	})
}

// Prune removes the records of a chain up to one, and the chain itself when
// that was its last and it is to go, once the heads that say so are there.
func (a *Audit) Prune(ctx context.Context, key string, chain, last int64, whole bool, seal ledger.Seal) error {
	return a.store.Update(ctx, func(t *Tx) error {
		if err := t.addHeads(key, seal); err != nil {
			return err
		}
		if whole {
			n, err := t.Exec("DELETE FROM audit_chain WHERE id = $1 AND seq = $2", chain, last)
			if err == nil && n != 1 {
				err = ledger.ErrMoved
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
func (a *Audit) Rewrite(ctx context.Context, key string, seal ledger.Seal) error {
	return a.store.Update(ctx, func(t *Tx) error {
		before, err := t.lastHead(key)
		if err == nil {
			err = t.addHeads(key, seal)
		}
		if err != nil {
			return err
		}
		_, err = t.Exec("DELETE FROM audit_head WHERE key = $1 AND number <= $2", key, before.Number)
		return err
	})
}

// addHeads makes others wait who add heads, and adds those that seal makes.
func (t *Tx) addHeads(key string, seal ledger.Seal) error {
	if t.store.dialect.name == "postgres" { // with SQLite there is one who writes
		if _, err := t.Exec("SELECT pg_advisory_xact_lock(7143201989)"); err != nil {
			return err
		}
	}
	last, err := t.lastHead(key)
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

func (t *Tx) lastHead(key string) (h ledger.Head, err error) {
	err = t.Row("SELECT key, number, line FROM audit_head WHERE key = $1 ORDER BY number DESC LIMIT 1", []any{key}, &h.Key, &h.Number, &h.Line)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return h, err
}

const chainColumns = "SELECT id, key, line, seq, hash, seen, ended FROM audit_chain "

// Chain is one chain, or [ErrNotFound].
func (a *Audit) Chain(ctx context.Context, id int64) (c ledger.Chain, found bool, err error) {
	list, err := a.chains(ctx, "WHERE id = $1", id)
	if len(list) == 1 {
		return list[0], true, err
	}
	return c, false, err
}

// Chains are those after one, in the order of their start.
func (a *Audit) Chains(ctx context.Context, after int64, limit int) ([]ledger.Chain, error) {
	return a.chains(ctx, "WHERE id > $1 ORDER BY id LIMIT $2", after, limit)
}

// Seen are the chains that were added to since a moment, the earliest first, of
// those of that very moment only those after one.
func (a *Audit) Seen(ctx context.Context, since, after int64, limit int) ([]ledger.Chain, error) {
	return a.chains(ctx, "WHERE (seen, id) > ($1, $2) ORDER BY seen, id LIMIT $3", since, after, limit)
}

func (a *Audit) chains(ctx context.Context, which string, args ...any) (list []ledger.Chain, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
		return t.Each(chainColumns+which, args, func(scan func(...any) error) error {
			var c ledger.Chain
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
func (a *Audit) NextChain(ctx context.Context, after int64) (id int64, found bool, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
		return t.Row("SELECT chain FROM audit_record WHERE chain > $1 ORDER BY chain LIMIT 1", []any{after}, &id)
	})
	if errors.Is(err, ErrNotFound) {
		return 0, false, nil
	}
	return id, err == nil, err
}

const recordColumns = "SELECT chain, seq, at, who, what, line FROM audit_record "

// Records are those of a chain after one, in their order.
func (a *Audit) Records(ctx context.Context, chain, after int64, limit int) ([]ledger.Record, error) {
	return a.records(ctx, "WHERE chain = $1 AND seq > $2 ORDER BY seq LIMIT $3", chain, after, limit)
}

// After are the records of all chains after a place, by time.
func (a *Audit) After(ctx context.Context, p ledger.Place, limit int) ([]ledger.Record, error) {
	return a.records(ctx, "WHERE (at, chain, seq) > ($1, $2, $3) ORDER BY at, chain, seq LIMIT $4", p.At, p.Chain, p.Seq, limit)
}

// Before are the records of all chains before a place, the latest first.
func (a *Audit) Before(ctx context.Context, p ledger.Place, limit int) ([]ledger.Record, error) {
	return a.records(ctx, "WHERE (at, chain, seq) < ($1, $2, $3) ORDER BY at DESC, chain DESC, seq DESC LIMIT $4", p.At, p.Chain, p.Seq, limit)
}

func (a *Audit) records(ctx context.Context, which string, args ...any) (list []ledger.Record, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
		return t.Each(recordColumns+which, args, func(scan func(...any) error) error {
			var r ledger.Record
			if err := scan(&r.Chain, &r.Seq, &r.At, &r.Who, &r.What, &r.Line); err != nil {
				return err
			}
			list = append(list, r)
			return nil
		})
	})
	return list, err
}

// Earliest is the first record of a chain in each chain that has one before a
// moment: the numbers of these chains, those first that begin first.
func (a *Audit) Earliest(ctx context.Context, before int64) (chains []int64, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
		const text = "SELECT chain, min(at) FROM audit_record WHERE at < $1 GROUP BY chain ORDER BY 2, 1"
		return t.Each(text, []any{before}, func(scan func(...any) error) error {
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
func (a *Audit) Count(ctx context.Context, who int64, what string) (same, all int, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
		const text = "SELECT count(*), coalesce(sum(CASE WHEN what = $2 THEN 1 ELSE 0 END), 0) FROM audit_record WHERE who = $1 AND who <> 0"
		return t.Row(text, []any{who, what}, &all, &same)
	})
	return same, all, err
}

// Keys are the names of all keys that have heads.
func (a *Audit) Keys(ctx context.Context) (keys []string, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
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
func (a *Audit) Heads(ctx context.Context, key string, after int64, limit int) (list []ledger.Head, err error) {
	const text = "SELECT number, line FROM audit_head WHERE key = $1 AND number > $2 ORDER BY number LIMIT $3"
	err = a.store.View(ctx, func(t *Tx) error {
		return t.Each(text, []any{key, after, limit}, func(scan func(...any) error) error {
			h := ledger.Head{Key: key}
			if err := scan(&h.Number, &h.Line); err != nil {
				return err
			}
			list = append(list, h)
			return nil
		})
	})
	return list, err
}

// run is Exec for what is done with every call: SQLite keeps the statement, and
// PostgreSQL keeps all of them anyway.
func (t *Tx) run(text string, args ...any) (int64, error) {
	return t.Exec(text, args...)
}

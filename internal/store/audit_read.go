package store

import (
	"context"
	"errors"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/ledger"
)

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

// The sum keeps SQLite from reading all records in the order of chains: by time
// it reads those only that are early enough, of an index that has all it needs.
const earliest = "SELECT chain, min(at) FROM audit_record WHERE at < $1 GROUP BY chain + 0, chain ORDER BY 2, 1"

// Earliest is the first record of a chain in each chain that has one before a
// moment: the numbers of these chains, those first that begin first.
func (a *Audit) Earliest(ctx context.Context, before int64) (chains []int64, err error) {
	err = a.store.View(ctx, func(t *Tx) error {
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

package store

import (
	"context"
	"errors"
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
	return &Audit{store: s, inserts: sync.OnceValue(func() (texts []string) {
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

// To say that a chain was seen costs a page of an index more.
const (
	advance     = "UPDATE audit_chain SET seq = $1, hash = $2 WHERE id = $3 AND seq = $4 AND hash = $5"
	advanceSeen = "UPDATE audit_chain SET seq = $1, hash = $2, seen = {{now}} WHERE id = $3 AND seq = $4 AND hash = $5"
)

// Append adds records to a chain that was left at from, so that it is as to
// says, and was seen now if that differs. Without such a chain it adds nothing, and the error is
// [ledger.ErrMoved].
func (a *Audit) Append(ctx context.Context, from, to ledger.Chain, records []ledger.Record) error {
	return a.store.Update(ctx, func(t *Tx) error {
		text := advance
		if from.Seen != to.Seen {
			text = advanceSeen
		}
		n, err := t.Exec(text, to.Seq, to.Hash, from.ID, from.Seq, from.Hash)
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
		if _, err := t.Exec(texts[power], args...); err != nil {
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

package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
)

// A Manifest describes a copy of a store: a backup, or another store.
type Manifest struct {
	Format int     `json:"format"`
	Engine string  `json:"engine"`
	Step   int     `json:"step"` // last migration of the tables
	Made   int64   `json:"made"` // in milliseconds by the clock of the store
	Tables []Table `json:"tables"`
}

// Rows returns the number of rows of all tables.
func (m Manifest) Rows() (n int64) {
	for _, t := range m.Tables {
		n += t.Rows
	}
	return n
}

// manifest returns a manifest without the rows of the tables.
func (t *Tx) manifest() (m Manifest, err error) {
	m = Manifest{Format: format, Engine: t.store.Engine()}
	if err := t.disableIdleTimeout(); err != nil {
		return m, err
	}
	if err := t.Row("SELECT coalesce(max(step), 0), {{now}} FROM migration", nil, &m.Step, &m.Made); err != nil {
		return m, err
	}
	tables, err := tablesAt(t.ctx, m.Step)
	m.Tables = copiedTables(tables)
	return m, err
}

// disableIdleTimeout keeps PostgreSQL from ending the transaction while it waits
// for the other side of a copy.
func (t *Tx) disableIdleTimeout() error {
	if t.store.dialect.name != "postgres" {
		return nil
	}
	_, err := t.Exec("SET LOCAL idle_in_transaction_session_timeout = 0")
	return err
}

// A rowDigest counts rows and hashes their lines.
type rowDigest struct {
	rows int64
	hash hash.Hash
}

func newRowDigest() *rowDigest { return &rowDigest{hash: sha256.New()} }

func (y *rowDigest) add(line []byte) {
	y.rows++
	y.hash.Write(line)
}

func (y *rowDigest) sum() string { return hex.EncodeToString(y.hash.Sum(nil)) }

// A rowSource calls add with every row of a table, as a line and as values.
type rowSource func(table Table, add func(line []byte, values []any) error) error

// ErrNotEmpty means that a store to be filled has rows.
var ErrNotEmpty = errors.New("the store is not empty")

// fillFrom replaces all rows by the rows of a copy, and writes their number and digest into its
// manifest. Known numbers and digests have to be equal. Every table is read again before
// anything counts.
func (t *Tx) fillFrom(m *Manifest, force bool, give rowSource) error {
	now, err := latestStep()
	if err != nil {
		return err
	}
	tables, err := tablesAt(t.ctx, now)
	if err != nil {
		return err
	}
	want, err := tablesAt(t.ctx, m.Step)
	if err != nil {
		return err
	}
	if err := sameShape(m.Tables, copiedTables(want)); err != nil {
		return err
	}
	m.Tables, want = copiedTables(want), m.Tables // in the order of foreign keys
	for i, table := range m.Tables {
		known := want[slices.IndexFunc(want, func(w Table) bool { return w.Name == table.Name })]
		m.Tables[i].Rows, m.Tables[i].SHA256 = known.Rows, known.SHA256
	}
	if err := t.disableIdleTimeout(); err != nil {
		return err
	}
	last, err := t.lockAndEmpty(now, tables, force)
	if err != nil {
		return err
	}
	if err := t.rebuildTables(m.Step, now, tables); err != nil {
		return err
	}
	for i := range m.Tables {
		if err := t.fillTable(&m.Tables[i], give); err != nil {
			return fmt.Errorf("the table %s: %w", m.Tables[i].Name, err)
		}
	}
	if err := t.applySteps(m.Step, now); err != nil {
		return err
	}
	return t.resetFeed(last)
}

// lockAndEmpty locks all tables, deletes their rows, and returns the last number
// of the change feed.
func (t *Tx) lockAndEmpty(step int, tables []Table, force bool) (last int64, err error) {
	if t.store.dialect.name == "postgres" {
		names := make([]string, len(tables))
		for i, table := range tables {
			names[i] = quoted(table.Name)
		}
		if _, err := t.Exec("SELECT pg_advisory_xact_lock(7143201988)"); err != nil { // excludes migrations
			return 0, err
		}
		if _, err := t.Exec("LOCK TABLE " + strings.Join(names, ", ") + " IN EXCLUSIVE MODE"); err != nil {
			return 0, err
		}
	}
	var done int
	if err := t.Row("SELECT coalesce(max(step), 0) FROM migration", nil, &done); err != nil {
		return 0, err
	}
	if done != step {
		return 0, fmt.Errorf("%s has migration %d, this mcp-tools has %d: use a newer one", t.store.location, done,
			step)
	}
	if err := t.Row("SELECT coalesce(max(seq), 0) FROM change", nil, &last); err != nil {
		return 0, err
	}
	if !force {
		if err := t.checkEmpty(copiedTables(tables)); err != nil {
			return 0, err
		}
	}
	for _, table := range slices.Backward(tables) {
		if _, err := t.Exec("DELETE FROM " + quoted(table.Name)); err != nil {
			return 0, err
		}
	}
	return last, nil
}

func (t *Tx) checkEmpty(tables []Table) error {
	var taken []string
	for _, table := range tables {
		var some bool
		if err := t.Row("SELECT EXISTS (SELECT 1 FROM "+quoted(table.Name)+table.copied()+")", nil, &some); err != nil {
			return err
		}
		if some {
			taken = append(taken, table.Name)
		}
	}
	if len(taken) > 0 {
		return fmt.Errorf("%w: %s has rows in %s", ErrNotEmpty, t.store.location, strings.Join(taken, ", "))
	}
	return nil
}

// rebuildTables creates the tables of an earlier migration, for an older copy.
func (t *Tx) rebuildTables(step, now int, tables []Table) error {
	if step == now {
		return nil
	}
	for _, table := range slices.Backward(tables) {
		if _, err := t.Exec("DROP TABLE " + quoted(table.Name)); err != nil {
			return err
		}
	}
	if _, err := t.Exec("DELETE FROM migration"); err != nil {
		return err
	}
	return t.applySteps(0, step)
}

// Rows are written when there are so many in memory.
const (
	flushRows  = 128
	flushBytes = 4 << 20
)

// fillTable writes the rows of a table and verifies them by reading them.
func (t *Tx) fillTable(table *Table, give rowSource) error {
	given, into := newRowDigest(), quoted(table.Name)+" ("+table.columnList()+")"
	var rows [][]any
	bytes := 0
	flush := func() error {
		err := t.Insert(into, rows)
		rows, bytes = rows[:0], 0
		return err
	}
	err := give(*table, func(line []byte, values []any) error {
		given.add(line)
		rows, bytes = append(rows, values), bytes+len(line)
		if len(rows) < flushRows && bytes < flushBytes {
			return nil
		}
		return flush()
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return err
	}
	if table.SHA256 != "" && (table.Rows != given.rows || table.SHA256 != given.sum()) {
		return errDamaged
	}
	table.Rows, table.SHA256 = given.rows, given.sum()
	kept := newRowDigest()
	if err := t.rows(*table, func(line []byte, _ []any) error { kept.add(line); return nil }); err != nil {
		return err
	}
	if kept.rows != given.rows || kept.sum() != given.sum() {
		return fmt.Errorf("%s returned other rows than were written; nothing was changed", t.store.location)
	}
	return nil
}

var errDamaged = errors.New("the rows differ from the manifest: the file is damaged")

// feedGap is the number of changes that a new feed skips, so that a follower of
// the old feed detects missing changes.
const feedGap = 1000

// resetFeed makes all positions in the old feed invalid: it gives the store a new
// id, and a feed that begins well after the end of the old one.
func (t *Tx) resetFeed(last int64) error {
	for _, text := range []string{"DELETE FROM store_identity", "DELETE FROM change"} {
		if _, err := t.Exec(text); err != nil {
			return err
		}
	}
	if _, err := t.Exec("INSERT INTO store_identity (one, id) VALUES (1, $1)", NewID()); err != nil {
		return err
	}
	last += feedGap
	_, err := t.Exec("INSERT INTO change (seq, topic, key, at) VALUES ($1, 'store', 'restored', {{now}})", last)
	if err == nil && t.store.dialect.name == "postgres" { // SQLite continues after the largest number
		_, err = t.Exec("SELECT setval(pg_get_serial_sequence('change', 'seq'), $1)", last)
	}
	return err
}

// A stamp changes when a store changes: the end of the change feed, and the time
// of the last audit record.
type stamp struct {
	feed Cursor
	seen int64
}

func (t *Tx) stamp() (s stamp, err error) {
	if err := t.end(&s.feed, "TRUE", "DESC"); err != nil {
		return s, err
	}
	return s, t.Row("SELECT coalesce(max(seen), 0) FROM audit_chain", nil, &s.seen)
}

// CopyTo copies all rows to another store and verifies them. The other store must be empty.
// moved reports whether this store has changed since the copy began; the copy does not have
// those changes.
func (s *Store) CopyTo(ctx context.Context, to *Store) (m Manifest, moved bool, err error) {
	if s.location == to.location && s.Engine() == "sqlite" && to.Engine() == "sqlite" {
		return m, false, fmt.Errorf("%s cannot be copied to itself; name another store", s.location)
	}
	var before, after stamp
	err = to.Update(ctx, func(t *Tx) error {
		return s.View(ctx, func(from *Tx) (err error) {
			if before, err = from.stamp(); err != nil {
				return err
			}
			if m, err = from.manifest(); err != nil {
				return err
			}
			return t.fillFrom(&m, false, from.rows)
		})
	})
	if err != nil {
		return m, false, err
	}
	to.id.Store(nil) // resetFeed has changed it
	to.notifier.wake()
	err = s.View(ctx, func(t *Tx) (err error) { after, err = t.stamp(); return err })
	return m, before != after, err
}

package store

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"time"
)

// migrations create the tables in steps, one file for each step, in the order of
// their names. A published file must not be changed; add a new one.
//
//go:embed migrations/*.sql
var migrations embed.FS

// steps returns the statements of all migrations in order.
func steps() ([]string, error) {
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	var list []string
	for i, name := range names {
		if want := fmt.Sprintf("%04d_", i+1); path.Base(name)[:5] != want {
			return nil, fmt.Errorf("migration %s: its name does not begin with %s", name, want)
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return nil, err
		}
		list = append(list, string(text))
	}
	return list, nil
}

// migrate applies new migrations. Other processes that start at the same time wait, as transactions do.
func (s *Store) migrate(ctx context.Context) error {
	begun := time.Now()
	for attempt := 0; ; attempt++ {
		err := s.migrateOnce(ctx)
		if !s.blocked(err) || time.Since(begun) > retryFor || backOff(ctx, attempt) != nil {
			return err
		}
	}
}

// migrateOnce applies new migrations in one transaction.
func (s *Store) migrateOnce(ctx context.Context) error {
	list, err := steps()
	if err != nil {
		return err
	}
	var tx *sql.Tx
	if err := s.patiently(ctx, func() (err error) {
		tx, err = s.write.BeginTx(ctx, nil)
		return err
	}); err != nil {
		return s.unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit
	t := &Tx{store: s, tx: tx, ctx: ctx}
	if s.dialect.name == "postgres" {
		if _, err := t.Exec("SELECT pg_advisory_xact_lock(7143201988)"); err != nil {
			return err
		}
	}
	if _, err := t.Exec("CREATE TABLE IF NOT EXISTS migration (step INTEGER PRIMARY KEY, at BIGINT NOT " +
		"NULL)"); err != nil {
		return err
	}
	var done int
	if err := t.Row("SELECT coalesce(max(step), 0) FROM migration", nil, &done); err != nil {
		return err
	}
	if done > len(list) {
		return fmt.Errorf("the store %s was made by a newer mcp-tools (migration %d, this one has %d); use that "+
			"version", s.location, done, len(list))
	}
	if err := t.applySteps(done, len(list)); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return s.unavailable(err)
	}
	return nil
}

// applySteps applies the migrations after one, up to another.
func (t *Tx) applySteps(after, to int) error {
	list, err := steps()
	if err != nil {
		return err
	}
	for i := after; i < to; i++ {
		if _, err := t.Exec(list[i]); err != nil {
			return fmt.Errorf("migration %d of the store: %w", i+1, err)
		}
		if _, err := t.Exec("INSERT INTO migration (step, at) VALUES ($1, {{now}})", i+1); err != nil {
			return err
		}
	}
	return nil
}

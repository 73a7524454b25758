package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
)

// migrations are the steps from an empty database to the tables of today, one
// file each, in the order of their names. A step that was published is never
// changed: a new one follows it.
//
//go:embed migrations/*.sql
var migrations embed.FS

// steps are the statements of every migration, in order.
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

// migrate takes the steps that the database has not seen. Both engines do and
// undo changes of tables in transactions, so there are no half steps; others
// who start at the same time wait.
func (s *Store) migrate(ctx context.Context) error {
	list, err := steps()
	if err != nil {
		return err
	}
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return s.unavailable(err)
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	t := &Tx{store: s, tx: tx, ctx: ctx}
	if s.dialect.name == "postgres" {
		if _, err := t.Exec("SELECT pg_advisory_xact_lock(7143201988)"); err != nil {
			return err
		}
	}
	if _, err := t.Exec("CREATE TABLE IF NOT EXISTS migration (step INTEGER PRIMARY KEY, at BIGINT NOT NULL)"); err != nil {
		return err
	}
	var done int
	if err := t.Row("SELECT coalesce(max(step), 0) FROM migration", nil, &done); err != nil {
		return err
	}
	if done > len(list) {
		return fmt.Errorf("the store %s was made by a newer mcp-tools (step %d, this one knows %d): use that one", s.location, done, len(list))
	}
	for i := done; i < len(list); i++ {
		if _, err := t.Exec(list[i]); err != nil {
			return fmt.Errorf("step %d of the store's tables: %w", i+1, err)
		}
		if _, err := t.Exec("INSERT INTO migration (step, at) VALUES ($1, {{now}})", i+1); err != nil {
			return err
		}
	}
	if err := tx.Commit(); err != nil {
		return s.unavailable(err)
	}
	return nil
}

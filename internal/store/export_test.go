package store

import (
	"context"
	"database/sql"
	"errors"
)

// Rewind makes a store one of an earlier migration, without rows. The function fills it before the migrations since
// then follow.
func (s *Store) Rewind(ctx context.Context, step int, fill func(t *Tx) error) error {
	all, err := steps()
	if err != nil {
		return err
	}
	tables, err := tablesAt(ctx, len(all))
	if err != nil {
		return err
	}
	return s.Update(ctx, func(t *Tx) error {
		if err := t.rebuildTables(step, len(all), tables); err != nil {
			return err
		}
		if err := fill(t); err != nil {
			return err
		}
		return t.applySteps(step, len(all))
	})
}

// RolledBack reports whether database/sql has ended the transaction.
func (t *Tx) RolledBack() bool {
	_, err := t.tx.ExecContext(context.Background(), "SELECT 1")
	return errors.Is(err, sql.ErrTxDone)
}

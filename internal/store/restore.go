package store

import (
	"context"
	"fmt"
)

// Restore fills the store from a backup, in one transaction: with what the
// backup holds, or, on any error, not at all. A store that has rows is left
// alone unless force is set. A backup of an earlier version gets the tables of
// its time, which are then brought up to date.
//
// Others cannot write meanwhile. Afterwards nobody finds a place in the feed
// that was kept before, so that everything that was derived is derived anew.
func (s *Store) Restore(ctx context.Context, path string, force bool) (m Manifest, err error) {
	a, err := openArchive(path)
	if err != nil {
		return m, err
	}
	defer a.file.Close()
	if err := a.verify(ctx); err != nil { // before anybody has to wait
		return m, err
	}
	err = s.Update(ctx, func(t *Tx) error {
		m = a.manifest
		return t.fillFrom(&m, force, func(table Table, add func([]byte, []any) error) error { return a.rows(ctx, table, add) })
	})
	if err != nil {
		return m, fmt.Errorf("restoring %s: %w", path, err)
	}
	s.notifier.wake()
	return m, nil
}

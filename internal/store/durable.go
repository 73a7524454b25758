package store

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Flush waits until all earlier commits of this process survive a power cut. PostgreSQL's do already;
// SQLite's do with [Options.Full] only.
func (s *Store) Flush(ctx context.Context) error {
	if s.dialect.name != "sqlite" {
		return nil
	}
	if err := s.open(ctx); err != nil {
		return err
	}
	for _, path := range []string{s.location + "-wal", s.location} { // a commit is in one of them
		file, err := os.OpenFile(path, os.O_RDWR, 0)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil {
			err = errors.Join(file.Sync(), file.Close())
		}
		if err != nil {
			return s.unavailable(err)
		}
	}
	return nil
}

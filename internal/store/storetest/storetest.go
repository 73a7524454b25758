// Package storetest helps tests that need a store: it runs a test with stores of
// both engines, makes databases in a PostgreSQL server that all tests of a process
// share, and starts separate servers for tests that stop them. The servers listen
// on a socket in a temporary directory and end with the test or the process. Begin
// with [Each].
package storetest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Each runs a test on an empty store of each engine.
func Each(t *testing.T, f func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, Open(t, t.TempDir())) })
	t.Run("postgres", func(t *testing.T) { f(t, Open(t, MigratedDatabase(t))) })
}

// Open opens a store until the end of the test. A directory without a store gets a copy of a migrated one, because
// the migrations take longer than most tests.
func Open(t testing.TB, dsn string) *store.Store {
	t.Helper()
	if info, err := os.Stat(dsn); err == nil && info.IsDir() {
		if err := plant(dsn); err != nil {
			t.Fatal(err)
		}
	}
	s, err := store.Open(t.Context(), store.Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// storeFile is the file of a SQLite store in its directory.
const storeFile = "store.db"

// plant puts the migrated store into a directory, unless there is a store. Processes do so at the same time: the file
// appears whole, and never replaces that of another process.
func plant(dir string) error {
	path := filepath.Join(dir, storeFile)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := migratedFile()
	if err != nil {
		return err
	}
	made, err := os.CreateTemp(dir, storeFile+".*")
	if err != nil {
		return err
	}
	_, err = made.Write(data)
	if err = errors.Join(err, made.Close()); err == nil {
		if err = os.Link(made.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	return errors.Join(err, os.Remove(made.Name()))
}

// migratedFile returns the bytes of an empty SQLite store with all migrations.
var migratedFile = sync.OnceValues(func() (data []byte, err error) {
	dir, err := os.MkdirTemp("", "store")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := migrate(dir); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, storeFile)) // closing it has emptied its log
})

// migrate applies all migrations to an empty store.
func migrate(dsn string) error {
	s, err := store.Open(context.Background(), store.Options{DSN: dsn})
	if err != nil {
		return err
	}
	return s.Close()
}

// Package storetest helps tests that need a store: it runs a test with stores of
// both engines, makes databases in a PostgreSQL server that all tests of a process
// share, and starts separate servers for tests that stop them. The servers listen
// on a socket in a temporary directory and end with the test or the process. Begin
// with [Each].
package storetest

import (
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
)

// Each runs a test on an empty store of each engine.
func Each(t *testing.T, f func(t *testing.T, s *store.Store)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, Open(t, t.TempDir())) })
	t.Run("postgres", func(t *testing.T) { f(t, Open(t, Database(t))) })
}

// Open opens a store until the end of the test.
func Open(t testing.TB, dsn string) *store.Store {
	t.Helper()
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

// Package storetest is for tests that need a store: databases of their own in
// a PostgreSQL server that all tests of a process share, servers of their own
// for tests that stop them, and stores of both engines to run the same test on.
// The servers are real ones that listen on a socket in a temporary directory,
// and are gone with the test, or with the process. Begin with [Each].
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

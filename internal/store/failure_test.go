package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestFailureAsToolError looks at the errors of a store that cannot be
// opened, of one without its server, and of a wrong statement.
func TestFailureAsToolError(t *testing.T) {
	ask := func(ctx context.Context, s *store.Store) *tool.Error {
		err := s.Row(ctx, "SELECT count(*) FROM change", nil, new(int))
		return tool.AsError(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.OpenLazy(store.Options{DSN: filepath.Join(file, "below")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := ask(t.Context(), s); err == nil || err.Kind != tool.Unavailable || strings.Contains(err.Error(), file) {
		t.Errorf("a place that cannot be: %v", err)
	}

	server := storetest.Postgres(t)
	s = storetest.Open(t, server.DSN("postgres"))
	if err := ask(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ended, s); err == nil || err.Kind != tool.Cancelled {
		t.Errorf("a call that was ended: %v", err)
	}
	wrong := func(t *store.Tx) error { _, err := t.Exec("UPDATE nothing SET x = 1"); return err }
	if err := s.Update(t.Context(), wrong); tool.AsError(err).Kind != tool.Internal {
		t.Errorf("a wrong statement: %v", err)
	}
	server.Stop(t, "fast")
	if err := ask(t.Context(), s); err == nil || err.Kind != tool.Unavailable {
		t.Errorf("without a server: %v", err)
	}
	if err := s.Update(t.Context(), wrong); tool.AsError(err).Kind != tool.Unavailable ||
		errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a server: %v", err)
	}
	server.Start(t)
	if err := ask(t.Context(), s); err != nil {
		t.Errorf("with the server again: %v", err)
	}
}

// TestContextEndsTransaction ends a call between its last statement and the
// commit, when database/sql has rolled back already: nothing is wrong with the
// store, and nothing of the transaction is there.
func TestContextEndsTransaction(t *testing.T) {
	var log bytes.Buffer
	s, err := store.Open(t.Context(), store.Options{DSN: t.TempDir(), Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const insert = "INSERT INTO change (topic, key, at) VALUES ('a', 'b', 1)"
	for name, run := range map[string]func(context.Context, func(*store.Tx) error) error{"update": s.Update, "view": s.View} {
		ctx, cancel := context.WithCancel(t.Context())
		err = run(ctx, func(tx *store.Tx) error {
			if name == "update" {
				if _, err := tx.Exec(insert); err != nil {
					return err
				}
			}
			cancel()
			for !tx.RolledBack() {
				runtime.Gosched()
			}
			if name == "view" {
				return tx.Row("SELECT count(*) FROM change", nil, new(int))
			}
			return nil
		})
		if known := tool.AsError(err); !errors.Is(err, context.Canceled) || known.Kind != tool.Cancelled {
			t.Errorf("%s: %v", name, err)
		}
	}
	n := 0
	if err := s.Row(t.Context(), "SELECT count(*) FROM change WHERE topic = 'a'", nil, &n); err != nil || n != 0 {
		t.Errorf("%d rows of a transaction that was not committed: %v", n, err)
	}
	if log.Len() > 0 {
		t.Errorf("logged: %s", &log)
	}
}

// TestDamagedFileAdvice has a file that is not a database, one
// with a hole, and one that is whole again because it was moved away.
func TestDamagedFileAdvice(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "store.db")
	read := func() error {
		s, err := store.Open(t.Context(), store.Options{DSN: dir})
		if err != nil {
			return err
		}
		err = s.Row(t.Context(), "SELECT count(*) FROM audit_record", nil, new(int))
		return errors.Join(err, s.Close())
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	holed := append([]byte(nil), whole...)
	for i := 4096; i < len(holed); i++ {
		holed[i] = 0xaa
	}
	for name, text := range map[string][]byte{"no database": []byte(strings.Repeat("nonsense", 1000)),
		"a hole": holed} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(); err == nil || strings.Count(err.Error(), "store restore") != 1 ||
			!strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := read(); err != nil {
		t.Errorf("after it was moved away: %v", err)
	}
}

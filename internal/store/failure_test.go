package store_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// TestWhatModelsAreToldOfAFailure looks at the errors of a store that cannot be
// opened, of one whose server is gone, and of a statement that is wrong.
func TestWhatModelsAreToldOfAFailure(t *testing.T) {
	ask := func(ctx context.Context, s *store.Store) *tools.Error {
		_, _, err := s.Memory(ctx, memory.Owner{Agent: "a"}, "memory/a.md")
		return tools.AsError(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := store.Later(store.Options{DSN: filepath.Join(file, "below")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := ask(t.Context(), s); err == nil || err.Kind != tools.Unavailable || strings.Contains(err.Error(), file) {
		t.Errorf("a place that cannot be: %v", err)
	}

	server := storetest.Postgres(t)
	s = storetest.Open(t, server.DSN("postgres"))
	if err := ask(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := ask(ended, s); err == nil || err.Kind != tools.Cancelled {
		t.Errorf("a call that was ended: %v", err)
	}
	wrong := func(t *store.Tx) error { _, err := t.Exec("UPDATE nothing SET x = 1"); return err }
	if err := s.Update(t.Context(), wrong); tools.AsError(err).Kind != tools.Internal {
		t.Errorf("a wrong statement: %v", err)
	}
	server.Stop(t, "fast")
	if err := ask(t.Context(), s); err == nil || err.Kind != tools.Unavailable {
		t.Errorf("without a server: %v", err)
	}
	if err := s.Update(t.Context(), wrong); tools.AsError(err).Kind != tools.Unavailable || errors.Is(err, store.ErrNotFound) {
		t.Errorf("without a server: %v", err)
	}
	server.Start(t)
	if err := ask(t.Context(), s); err != nil {
		t.Errorf("with the server again: %v", err)
	}
}

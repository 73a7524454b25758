package memory_test

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/indexer/indexertest"
)

// open opens a memory on the store of a DSN.
func open(t testing.TB, dsn, dir string) (*memory.Memory, *memory.Rows) {
	t.Helper()
	s := storetest.Open(t, dsn)
	rows := memory.NewRows(s, memory.Limits{})
	return memory.New(memory.Options{Rows: rows, Index: indexertest.Open(t, dir, s, rows)}), rows
}

func at(t time.Time) *time.Time { return &t }

// eachRows runs a test on the rows of an empty store of each engine.
func eachRows(t *testing.T, f func(t *testing.T, s *store.Store, rows *memory.Rows)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, s, memory.NewRows(s, memory.Limits{})) })
}

// each runs a test on an empty memory in a store of each engine.
func each(t *testing.T, f func(t *testing.T, m *memory.Memory, rows *memory.Rows)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		dir := t.TempDir()
		m, rows := open(t, dir, filepath.Join(dir, "search"))
		f(t, m, rows)
	})
	t.Run("postgres", func(t *testing.T) {
		m, rows := open(t, storetest.Database(t), t.TempDir())
		f(t, m, rows)
	})
}

// as is the context of a call.
func as(t testing.TB, agent, user string) context.Context {
	t.Helper()
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: agent, User: user, Session: "s1"}})
}

func remember(t testing.TB, ctx context.Context, m *memory.Memory, key, text string) memory.Stored {
	t.Helper()
	s, err := m.Store(ctx, memory.Write{Key: key, Text: text})
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	return s
}

// search searches until the answer has everything.
func search(t testing.TB, ctx context.Context, m *memory.Memory, q memory.Query) memory.Found {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 6
	}
	for {
		found, err := m.Search(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		if !found.Behind {
			return found
		}
	}
}

func paths(f memory.Found) (list []string) {
	for _, h := range f.Hits {
		list = append(list, h.Path)
	}
	return list
}

func kind(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

const day = 24 * time.Hour

func isAbsent(err error) bool { return errors.Is(err, fs.ErrNotExist) }

package contextfiles_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

// agents are one of each kind; of "open" nothing is said.
func agents() []contextfiles.Agent {
	return []contextfiles.Agent{{Name: "laid", Predefined: true}, {Name: "grows", Predefined: true, Evolves: true}}
}

// each runs a test on an empty store of each engine.
func each(t *testing.T, f func(t *testing.T, b *contextfiles.Files, s *memory.Rows)) {
	t.Helper()
	on := func(dsn func(t *testing.T) string) func(t *testing.T) {
		return func(t *testing.T) {
			rows := memory.NewRows(storetest.Open(t, dsn(t)), memory.Limits{})
			f(t, contextfiles.New(rows, agents()), rows)
		}
	}
	t.Run("sqlite", on(func(t *testing.T) string { return t.TempDir() }))
	t.Run("postgres", on(func(t *testing.T) string { return storetest.Database(t) }))
}

// as is the context of a call.
func as(t testing.TB, agent, user string) context.Context {
	t.Helper()
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: agent, User: user, Session: "s1"}})
}

// set writes a copy as an operator does.
func set(t testing.TB, b *contextfiles.Files, agent, user, name, text string) {
	t.Helper()
	o := tool.Owner{Agent: agent, User: user}
	if err := b.Set(t.Context(), o, memory.Author{Name: "op"}, name, text); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// read returns the text that a caller reads, or the error.
func read(ctx context.Context, b *contextfiles.Files, name string) string {
	text, _, err := b.Read(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "(none)"
	case err != nil:
		return string(kind(err))
	}
	return string(text)
}

func kind(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

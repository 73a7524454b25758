package skills_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/skills"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools"
)

// A bench is a library over a real workspace and a real store.
type bench struct {
	*skills.Library
	ctx   context.Context // of user u of agent tester
	ws    string
	files *workspace.Workspace
	dirs  []string // the operator's
	store *store.Store
}

// route makes a part of the workspace of what is published.
type route struct{ skills.Served }

func (route) List(context.Context) ([]workspace.SourceEntry, error) { return nil, nil }

// late is a library that is not made yet.
type late struct{ library *skills.Library }

func (l *late) served() route { return route{l.library.Served()} }

func newBench(t testing.TB, s *store.Store) bench {
	t.Helper()
	b := bench{dirs: []string{workspacetest.Dir(t), workspacetest.Dir(t)}, store: s}
	at := &late{}
	b.files, b.ctx, b.ws = workspacetest.New(t, func(o *workspace.Options) {
		o.Deny = append(o.Deny, "skills/hush/", "*.deny")
		o.Routes = []workspace.Route{{Serves: func(ctx context.Context, name string) bool { return at.served().Serves(ctx, name) }, Source: source{at}}}
	})
	b.Library = skills.New(skills.Options{
		Rows: s.Skills(), Files: b.files, Index: filepath.Join(workspacetest.Dir(t), "index"),
		Dirs:    []skills.Dir{{Path: b.dirs[0], Name: "home-skills"}, {Path: b.dirs[1]}, {Path: "/nowhere"}},
		Missing: func(err error) bool { return errors.Is(err, store.ErrNotFound) },
	})
	at.library = b.Library
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// source is what a late library serves.
type source struct{ late *late }

func (s source) Read(ctx context.Context, name string) ([]byte, time.Time, error) {
	return s.late.served().Read(ctx, name)
}
func (s source) Write(ctx context.Context, name string, content []byte) error {
	return s.late.served().Write(ctx, name, content)
}
func (s source) Remove(ctx context.Context, name string) error {
	return s.late.served().Remove(ctx, name)
}
func (s source) List(context.Context) ([]workspace.SourceEntry, error) {
	return nil, nil
}

// as is the context of another caller of the same workspace.
func (b bench) as(agent, user string) context.Context {
	return workspacetest.For(context.Background(), tools.Caller{Agent: agent, User: user, Session: "s2", Workspace: b.ws})
}

func each(t *testing.T, f func(t *testing.T, b bench)) {
	storetest.Each(t, func(t *testing.T, s *store.Store) { f(t, newBench(t, s)) })
}

func sqlite(t testing.TB) bench { return newBench(t, storetest.Open(t, t.TempDir())) }

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func text(name, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n%s\n", name, description, body)
}

func kind(err error) tools.Kind {
	if err == nil {
		return ""
	}
	return tools.AsError(err).Kind
}

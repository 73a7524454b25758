package skills

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// A bench is a library over a real workspace and a real store.
type bench struct {
	*Library
	ctx    context.Context // of user u of agent tester
	ws     string          // directory of the workspace
	files  workspace.Files
	served Served
	db     *store.Store
	dirs   []string // the operator's
}

func newBench(t testing.TB, dsn string) bench {
	t.Helper()
	b := bench{
		dirs: []string{workspacetest.Dir(t), workspacetest.Dir(t)}, db: storetest.Open(t, dsn),
	}
	visible := Visible{"reader": {"!deploy*"}, "forms": {"pdf-*", "letters", "!pdf-secret"}}
	b.served = NewServed(b.db, visible)
	b.files, b.ctx, b.ws = workspacetest.New(t, func(o *workspace.Options) {
		o.Deny = append(o.Deny, "skills/hush/", "*.deny")
		o.Routes = append(o.Routes, workspace.Route{Serves: b.served.Serves, Source: b.served})
	})
	b.Library = New(Options{
		Store: b.db, Files: b.files,
		Dirs:    []Dir{{Path: b.dirs[0], Name: "home-skills"}, {Path: b.dirs[1]}, {Path: "/nowhere"}},
		Visible: visible,
	})
	return b
}

// as returns the context of another caller of the same workspace.
func (b bench) as(agent, user string) context.Context {
	return workspacetest.For(context.Background(), tool.Caller{Agent: agent, User: user, Session: "s2", Workspace: b.ws})
}

// each runs a test on a store of each engine.
func each(t *testing.T, f func(t *testing.T, b bench)) {
	t.Run("sqlite", func(t *testing.T) { f(t, sqlite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, newBench(t, storetest.Database(t))) })
}

func sqlite(t testing.TB) bench { return newBench(t, t.TempDir()) }

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mainFile(name, description, body string) string {
	return fmt.Sprintf("---\nname: %s\ndescription: %s\n---\n\n%s\n", name, description, body)
}

func kind(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

// Package workspacetest creates workspaces for tests of code that works on files, so that
// no test needs a fake.
//
// Begin with [New]. It returns a real workspace in an empty directory, and a context with a
// caller that can use it.
package workspacetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// New creates a workspace in an empty directory that is removed after the test. It returns
// a context for the [Caller], and the directory. The data directory is a separate one;
// change may set other options.
func New(t testing.TB, change ...func(*workspace.Options)) (*workspace.Workspace, context.Context, string) {
	t.Helper()
	o := workspace.Options{
		Data: filepath.Join(Dir(t), "data"), Deny: workspace.DefaultDeny(), Protect: workspace.DefaultProtect(),
	}
	for _, f := range change {
		f(&o)
	}
	w, err := workspace.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	dir := Dir(t)
	return w, For(t.Context(), Caller(dir)), dir
}

// Dir creates a directory that is removed after the test. Its path has no links.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Caller returns the caller for tests in a directory.
func Caller(dir string) tool.Caller {
	return tool.Caller{Agent: "tester", User: "u", Session: "s1", Workspace: dir}
}

// For returns a context of a call by c.
func For(ctx context.Context, c tool.Caller) context.Context {
	return tool.With(ctx, &tool.Running{Caller: c, Tool: "test", Call: "call-1"})
}

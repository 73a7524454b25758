// Package workspacetest makes workspaces for the tests of everything that
// works on files, so that no test needs a fake of them.
//
// Begin with [New]: it gives a real workspace over an empty directory, and a
// context whose caller sees it. [Memory] is a store of files that are not on
// the disk, with the rules of agents' context files. The package knows nothing
// of how paths are decided; that is tested beside the code that does.
package workspacetest

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// New makes a workspace over a directory that is empty and gone after the
// test. It returns a context for the [Caller] and the directory. The data
// directory is elsewhere; change may set other options.
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

// Dir makes a directory that is gone after the test. Its path has no links.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Caller is who tests act for, in a directory.
func Caller(dir string) tool.Caller {
	return tool.Caller{Agent: "tester", User: "u", Session: "s1", Workspace: dir}
}

// For returns a context of a call for c.
func For(ctx context.Context, c tool.Caller) context.Context {
	return tool.With(ctx, &tool.Running{Caller: c, Tool: "test", Call: "call-1"})
}

package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// testWorkspace returns a workspace in a temporary directory ws, with its data in another one.
func testWorkspace(t testing.TB, change ...func(*Options)) (w *Workspace, ctx context.Context, ws string) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws = filepath.Join(top, "ws")
	o := Options{Data: filepath.Join(top, "data"), Home: top, Deny: DefaultDeny(), Protect: DefaultProtect()}
	for _, dir := range []string{ws, o.Data} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range change {
		f(&o)
	}
	if w, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w, callFor(t.Context(), ws), ws
}

func callFor(ctx context.Context, ws string) context.Context {
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: "a", User: "u", Session: "s", Workspace: ws}})
}

// plant creates files, directories (with a slash at the end) and links ("-> x").
func plant(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		full := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case name[len(name)-1] == '/':
			err = os.MkdirAll(full, 0o755)
		case len(content) > 3 && content[:3] == "-> ":
			err = os.Symlink(content[3:], full)
		default:
			err = os.WriteFile(full, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// content reads a file as a caller does.
func content(ctx context.Context, w *Workspace, path string) (string, error) {
	f, err := w.Open(ctx, path)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	return string(text), errors.Join(err, f.Close())
}

func kindOf(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

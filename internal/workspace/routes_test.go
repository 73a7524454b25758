package workspace_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

func read(ctx context.Context, w *workspace.Workspace, path string) (string, error) {
	f, err := w.Open(ctx, path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size))
	return string(text), err
}

func kind(err error) tool.Kind {
	if err == nil {
		return ""
	}
	return tool.AsError(err).Kind
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRoutes(t *testing.T) {
	m := newMemory()
	w, ctx, dir := workspacetest.New(t, m.Routed, func(o *workspace.Options) { o.Deny = append(o.Deny, "memory/private/") })
	m.Put("tester", "", "SOUL.md", "the agent's")
	m.Put("tester", "u", "USER.md", "the user's")
	m.Put("tester", "", "USER.md", "the agent's")
	m.Put("tester", "u", "memory/day.md", "remembered")
	m.Put("tester", "", "memory/shared.md", "shared")
	m.Put("tester", "u", "memory/private/x.md", "denied")
	m.Put("other", "u", "memory/theirs.md", "of another agent")
	write(t, filepath.Join(dir, "SOUL.md"), "from the disk")
	write(t, filepath.Join(dir, "sub", "SOUL.md"), "an ordinary file")
	write(t, filepath.Join(dir, "plain.txt"), "plain")
	for link, target := range map[string]string{"soul": "SOUL.md", "sub/up": "..", "diary": "memory/day.md"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"SOUL.md": "the agent's", "./SOUL.md": "the agent's", dir + "/SOUL.md": "the agent's", "@SOUL.md": "the agent's", "workspace_dir/SOUL.md": "the agent's",
		"sub/../SOUL.md": "the agent's", "soul": "the agent's", "sub/up/SOUL.md": "the agent's", "file://" + dir + "/SOUL.md": "the agent's",
		"USER.md": "the user's", "memory/day.md": "remembered", "memory/../memory/day.md": "remembered", "diary": "remembered", "memory/shared.md": "shared",
		"sub/SOUL.md": "an ordinary file", "plain.txt": "plain",
	} {
		if got, err := read(ctx, w, path); got != want || err != nil {
			t.Errorf("%q: %q, %v; want %q", path, got, err, want)
		}
	}
	for path, want := range map[string]tool.Kind{
		"memory/none.md": tool.NotFound, "BOOTSTRAP.md": tool.NotFound, "memory/theirs.md": tool.NotFound,
		"memory/private/x.md": tool.Refused, "../SOUL.md": tool.Refused, dir + "-evil/SOUL.md": tool.Refused,
	} {
		if got, err := read(ctx, w, path); kind(err) != want {
			t.Errorf("%q: %q, %v; want %s", path, got, err, want)
		}
	}
	nobody := workspacetest.For(t.Context(), tool.Caller{Workspace: dir})
	if got, err := read(nobody, w, "SOUL.md"); got != "from the disk" || err != nil {
		t.Errorf("without an agent: %q, %v", got, err)
	}
	first, _ := w.Open(ctx, "memory/day.md")
	m.Put("tester", "u", "memory/day.md", "changed")
	second, err := w.Open(ctx, "memory/day.md")
	if err != nil || first.Stamp == second.Stamp || first.Name != "memory/day.md" || !first.Exists {
		t.Errorf("stamps %q and %q, %v", first.Stamp, second.Stamp, err)
	}
}

func TestListingRoutes(t *testing.T) {
	m := newMemory()
	w, ctx, dir := workspacetest.New(t, m.Routed)
	m.Put("tester", "u", "memory/day.md", "remembered")
	m.Put("tester", "", "SOUL.md", "soul")
	write(t, filepath.Join(dir, "plain.txt"), "plain")
	for path, want := range map[string][]string{".": {"SOUL.md", "memory", "plain.txt"}, "memory": {"day.md"}} {
		l, err := w.List(ctx, workspace.ListQuery{Path: path, Depth: 1, Limit: 10})
		var got []string
		for _, e := range l.Entries {
			got = append(got, e.Name)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) || err != nil {
			t.Errorf("%s: %q, %v; want %q", path, got, err, want)
		}
	}
	if _, err := w.List(ctx, workspace.ListQuery{Path: "memories", Depth: 1, Limit: 10}); kind(err) != tool.NotFound {
		t.Errorf("a directory that nobody has: %v", err)
	}
}

func BenchmarkOpen1K(b *testing.B) {
	w, ctx, dir := workspacetest.New(b)
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "c.txt"), make([]byte, 1024), 0o644); err != nil {
		b.Fatal(err)
	}
	buf := make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		f, err := w.Open(ctx, "a/b/c.txt")
		if err != nil {
			b.Fatal(err)
		}
		if _, err := f.ReadAt(buf, 0); err != nil {
			b.Fatal(err)
		}
		_ = f.Close()
	}
}

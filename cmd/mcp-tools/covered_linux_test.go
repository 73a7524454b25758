package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// TestCoveredFilesAreReplaced checks that commands do not reach protected files
// that the host replaces or creates while the sandbox is open.
func TestCoveredFilesAreReplaced(t *testing.T) {
	if f := (&kernel.Launcher{}).Probe(t.Context()); !f.Works {
		needtest.Lacking(t, "kernel sandbox", f.Text)
	}
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) { // as editors and git do
		t.Helper()
		at := filepath.Join(ws, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at+".new", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(at+".new", at); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".env", ".git/config", ".git/HEAD", ".git/objects/x", ".git/refs/x", "sub/plain"} {
		write(name, "first")
	}
	r := startRunner(t, "kernel", t.TempDir(), ws)
	id := 0
	run := func(command string) string {
		t.Helper()
		id++
		r.ask(id, map[string]any{"command": command})
		return r.answer()
	}
	if out := run("cat sub/plain; echo x > /tmp/mark"); !strings.Contains(out, "first") {
		t.Fatalf("commands do not run: %q", out)
	}
	for _, c := range []struct {
		what    string
		change  func()
		command string
	}{
		{"replaced", func() { write(".env", "SECOND") }, "cat .env"},
		{"created", func() { write("sub/.env", "SECOND") }, "cat sub/.env"},
		{"created in a new directory", func() { write("new/deep/.env", "SECOND") }, "cat new/deep/.env"},
		{"renamed into place", func() {
			if err := os.Rename(filepath.Join(ws, "sub"), filepath.Join(ws, "other")); err != nil {
				t.Fatal(err)
			}
		}, "cat other/.env"},
		{"locked and replaced", func() { write(".git/config", "SECOND") }, "echo x >> .git/config && cat .git/config"},
	} {
		c.change()
		if out := run(c.command); strings.Contains(out, "SECOND") {
			t.Errorf("%s: commands reach it: %q", c.what, out)
		}
	}
}

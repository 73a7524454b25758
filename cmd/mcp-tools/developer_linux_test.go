package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// TestDeveloperEnvironment checks that git commits as the user, and that caches
// outlive a server.
func TestDeveloperEnvironment(t *testing.T) {
	if f := (&kernel.Launcher{}).Probe(t.Context()); !f.Works {
		needtest.Lacking(t, "kernel sandbox", f.Text)
	}
	needtest.Program(t, "git")
	home, data, ws := t.TempDir(), t.TempDir(), t.TempDir()
	settings := "[user]\n\tname = \"Ada \\\"Countess\\\" Lövelace\"\n\temail = ada@example.org\n[core]\n\tpager = evil\n"
	if err := os.WriteFile(filepath.Join(home, ".gitconfig"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", home)
	for i, want := range []string{"Ada \"Countess\" Lövelace <ada@example.org>", "kept"} {
		r := startRunner(t, "kernel", data, ws)
		r.ask(1, map[string]any{"command": []string{
			`git init -q . && git commit -q --allow-empty -m x && git log --format='%an <%ae>' && git config core.pager;
			git config --global a.b c && mkdir "$XDG_CACHE_HOME/pip" && echo kept > "$XDG_CACHE_HOME/pip/x"`,
			`cat "$XDG_CACHE_HOME/pip/x"; git commit -q --allow-empty -m y`,
		}[i]})
		if out := r.answer(); !strings.Contains(out, want) || strings.Contains(out, "evil") {
			t.Errorf("session %d: %q", i+1, out)
		}
		if err := r.in.Close(); err != nil {
			t.Fatal(err)
		}
		_ = r.cmd.Wait() // its status is not the subject
	}
}

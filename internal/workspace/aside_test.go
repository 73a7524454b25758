package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// place writes files, with their directories, as a command would.
func place(t *testing.T, ws string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(ws, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestProtectedFilesThatCommandsMakeAreSetAside(t *testing.T) {
	const cloned = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://example.com/x.git\n"
	for _, c := range []struct {
		name    string
		command Command
		made    map[string]string
		aside   []string // files and directories that were renamed
	}{
		{"a copied template", Command{}, map[string]string{
			".vscode/tasks.json": "{}", ".envrc": "evil", "new/.mcp.json": "{}", "src/a.txt": "a",
			"tool/.idea/runConfigurations/x.xml": "x",
		}, []string{".vscode/tasks.json", ".envrc", "new/.mcp.json", "tool/.idea"}},
		{"names that git ignores", Command{}, map[string]string{".cursor/mcp.json": "{}", "build/.envrc": "x"},
			[]string{".cursor"}},
		{"hooks", Command{}, map[string]string{
			".git/hooks/post-checkout": "evil", ".git/hooks/pre-commit.sample": "x",
			".git/modules/lib/one/HEAD": "x", ".git/modules/lib/one/hooks/pre-push": "evil",
		}, []string{".git/hooks/post-checkout", ".git/modules/lib/one/hooks/pre-push"}},
		{"a way in", Command{}, map[string]string{".ssh/authorized_keys": "key"}, []string{".ssh"}},
		{"files with secrets only", Command{}, map[string]string{".env": "A=1", "x.pem": "key"}, nil},
		{"a name in the command", Command{Named: []string{".vscode/tasks.json", ".husky"}},
			map[string]string{".vscode/tasks.json": "{}", ".husky/pre-commit": "x", ".envrc": "x"}, []string{".envrc"}},
		{"packages", Command{}, map[string]string{"node_modules/x/.github/workflows/ci.yml": "x"}, nil},
		{"a clone", Command{Git: true}, map[string]string{
			"lib/.git/HEAD": "x", "lib/.git/config": cloned, "lib/.git/hooks/a.sample": "x",
		}, nil},
		{"a repository with a program", Command{Git: true}, map[string]string{
			"lib/.git/HEAD": "x", "lib/.git/config": "[core]\n\tfsmonitor = evil\n",
		}, []string{"lib/.git/config"}},
		{"settings elsewhere", Command{}, map[string]string{"lib/.git": "gitdir: /tmp/evil", "evil/HEAD": "x"},
			[]string{"lib/.git"}},
		{"a submodule", Command{}, map[string]string{"lib/.git": "gitdir: ../.git/modules/lib",
			".git/modules/lib/HEAD": "x", ".git/modules/lib/config": cloned}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			w, ctx, ws := testWorkspace(t)
			place(t, ws, map[string]string{
				".vscode/settings.json": "{}", ".git/HEAD": "x", ".git/config": cloned, ".git/hooks/old": "x",
				".gitignore": ".cursor/\nbuild/\n", "src/a.txt": "",
			})
			w.Checkpoint(ctx, Command{Text: "true"})()
			if report := w.SetAside(ctx); report != "" {
				t.Errorf("without a change: %q", report)
			}
			ended := w.Checkpoint(ctx, c.command)
			place(t, ws, c.made)
			ended()
			report := w.SetAside(ctx)
			for _, name := range c.aside {
				_, gone := os.Lstat(filepath.Join(ws, name))
				_, err := os.Lstat(filepath.Join(ws, name+AsideSuffix))
				if !os.IsNotExist(gone) || err != nil || !strings.Contains(report, name) {
					t.Errorf("%s: %v, %v; the report is %q", name, gone, err, report)
				}
			}
			for name := range c.made {
				moved := false
				for _, aside := range c.aside {
					moved = moved || name == aside || strings.HasPrefix(name, aside+"/")
				}
				if _, err := os.Lstat(filepath.Join(ws, name)); (err != nil) != moved {
					t.Errorf("%s: %v; the report is %q", name, err, report)
				}
			}
			if c.aside == nil && report != "" || w.SetAside(ctx) != "" {
				t.Errorf("the report is %q", report)
			}
			w.Checkpoint(ctx, Command{Text: "true"})()
			if report := w.SetAside(ctx); report != "" {
				t.Errorf("at the next command: %q", report)
			}
		})
	}
}

// TestSetAsideOfRunningCommand finds what a command in the background has made at the
// start of the next command. What no command made stays.
func TestSetAsideOfRunningCommand(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	place(t, ws, map[string]string{"a.txt": "", ".bashrc": "old"})
	w.Checkpoint(ctx, Command{Text: "true"})()
	place(t, ws, map[string]string{".envrc": "of an editor"})
	ended := w.Checkpoint(ctx, Command{Text: "npm run dev"})
	place(t, ws, map[string]string{".zshrc": "evil", ".bashrc": "evil, on the host"})
	next := w.Checkpoint(ctx, Command{Text: "ls"})
	report := w.SetAside(ctx)
	if !strings.Contains(report, "names .zshrc,") || !strings.Contains(report, "changed .bashrc,") ||
		strings.Contains(report, ".envrc") {
		t.Errorf("the report is %q", report)
	}
	place(t, ws, map[string]string{".zshrc": "again"})
	next()
	ended()
	if _, err := os.Lstat(filepath.Join(ws, ".zshrc"+AsideSuffix+"-2")); err != nil {
		t.Errorf("the second file: %v", err)
	}
}

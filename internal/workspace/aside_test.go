package workspace

import (
	"fmt"
	"os"
	"os/exec"
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
	next()
	place(t, ws, map[string]string{".zshrc": "again"}) // by what the first one has left behind
	if report := w.SetAside(ctx); !strings.Contains(report, ".zshrc") {
		t.Errorf("of a process that still runs: %q", report)
	}
	ended()
	if _, err := os.Lstat(filepath.Join(ws, ".zshrc"+AsideSuffix+"-2")); err != nil {
		t.Errorf("the second file: %v", err)
	}
}

// TestFilesThatGitWrites has commands that run nothing but git, in a repository whose index a
// script has written before.
func TestFilesThatGitWrites(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = ws
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
			"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	git("init", "-q", "-b", "main")
	place(t, ws, map[string]string{"a.txt": "a"})
	git("add", ".")
	git("commit", "-qm", "one")
	git("checkout", "-qb", "packed")
	place(t, ws, map[string]string{".vscode/tasks.json": "of the user"})
	git("add", ".")
	git("commit", "-qm", "two")
	git("gc", "-q")
	git("checkout", "-qb", "loose")
	place(t, ws, map[string]string{".husky/pre-commit": "of the user, too"})
	git("add", ".")
	git("commit", "-qm", "three")
	git("checkout", "-q", "main")

	command := func(c Command, run func()) string {
		ended := w.Checkpoint(ctx, c)
		run()
		ended()
		return w.SetAside(ctx)
	}
	command(Command{Text: "sh x.sh"}, func() {
		place(t, ws, map[string]string{"evil": "evil"})
		git("update-index", "--add", "a.txt")
		hash := exec.Command("git", "hash-object", "-w", "evil")
		hash.Dir = ws
		id, err := hash.Output()
		if err != nil {
			t.Fatal(err)
		}
		git("update-index", "--add", "--cacheinfo", "100644,"+strings.TrimSpace(string(id))+",.claude/settings.json")
	})
	onlyGit := Command{Text: "git", Git: true}
	if report := command(onlyGit, func() { git("checkout", "--", ".claude") }); !strings.Contains(report, "names .claude,") {
		t.Errorf("a file that a script put into the index: %q", report)
	}
	command(onlyGit, func() { git("rm", "-q", "--cached", ".claude/settings.json") })
	for _, branch := range []string{"packed", "loose"} {
		if report := command(onlyGit, func() { git("checkout", "-q", branch) }); report != "" {
			t.Errorf("a branch from before: %q", report)
		}
	}
	if report := command(onlyGit, func() { git("worktree", "add", "-q", "tree", "packed") }); report != "" {
		t.Errorf("a worktree: %q", report)
	}
	if report := command(Command{Text: "sh x.sh"}, func() {
		place(t, ws, map[string]string{".git/worktrees/tree/config.worktree": "[core]\n\tfsmonitor = evil\n"})
	}); !strings.Contains(report, "config.worktree") {
		t.Errorf("settings of a worktree: %q", report)
	}
	for _, c := range []struct {
		command Command
		aside   bool
	}{{onlyGit, true}, {Command{Text: "git clone", Git: true, Clone: true}, false}} {
		name := fmt.Sprint("clone", c.aside)
		report := command(c.command, func() { git("clone", "-q", "-b", "packed", ws, name) })
		if strings.Contains(report, ".vscode") != c.aside {
			t.Errorf("%+v: %q", c.command, report)
		}
	}
}

// TestSetAsideInCrowdedWorkspaces has a command that makes more files than are recorded.
func TestSetAsideInCrowdedWorkspaces(t *testing.T) {
	w, ctx, ws := testWorkspace(t)
	place(t, ws, map[string]string{"a.txt": ""})
	w.Checkpoint(ctx, Command{Text: "true"})()
	many := filepath.Join(ws, "many")
	ended := w.Checkpoint(ctx, Command{Text: "sh x.sh"})
	place(t, ws, map[string]string{".envrc": "evil", "many/first": ""})
	for i := range maxTracked + 1 {
		if err := os.Link(filepath.Join(many, "first"), filepath.Join(many, fmt.Sprint(i/10_000, "-", i))); err != nil {
			t.Fatal(err)
		}
	}
	ended()
	if report := w.SetAside(ctx); !strings.Contains(report, ".envrc") {
		t.Errorf("too many files: %q", report)
	}
	for _, files := range []string{"more", "fewer", "fewer"} {
		ended := w.Checkpoint(ctx, Command{Text: "sh x.sh"})
		name := files + "/.mcp.json"
		place(t, ws, map[string]string{name: "evil"})
		if files == "fewer" {
			if err := os.RemoveAll(many); err != nil {
				t.Fatal(err)
			}
		}
		ended()
		if report := w.SetAside(ctx); !strings.Contains(report, name) {
			t.Errorf("%s files: %q", files, report)
		}
	}
}

package gitrepo

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

func TestDisposable(t *testing.T) {
	git := needtest.Program(t, "git")
	dir := t.TempDir()
	for name, text := range map[string]string{
		".gitignore": "/build/\nnode_modules\n*.o\n/out/*\n!/out/keep\ndist/\n", "a.go": "x", "build/a": "x",
		"node_modules/x/y":   "x",
		"sub/node_modules/x": "x", "dist/tracked.txt": "x", "dist/new": "x", "src/a.go": "x", "src/a.o": "x",
		"x.o": "x",
		"y.o": "x", "target/x": "x", "out/a": "x", "out/keep": "x", "sub/.gitignore": "tmp/\n!x.o\n", "sub/tmp/a": "x",
		"sub/x.o": "x", "build/nested/.git/HEAD": "x",
	} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if Disposable(filepath.Join(dir, "build")) {
		t.Error("build, without a repository")
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	check := func(when string, tracked bool) {
		for name, want := range map[string]bool{
			"build": true, "build/a": true, "build/": true, "build/missing": true, "node_modules": true,
			"sub/node_modules": true, "dist": !tracked, "dist/new": true, "dist/tracked.txt": !tracked, "src": false,
			"src/a.go": false, "src/a.o": true, "*.o": true, "*.go": false, "none*": false, "target": false,
			"missing": false,
			"out":     false, "out/a": true, "out/keep": false, "out/*": false, "sub/tmp": true, "sub/x.o": false,
			".":            false,
			"build/nested": false, ".git": false, "build/*": false, "src/*.o": true,
		} {
			if got := Disposable(filepath.Join(dir, name)); got != want {
				t.Errorf("%s: %s: %v", when, name, got)
			}
		}
	}
	run("init", "-q")
	check("without an index", false)
	run("add", "-f", "dist/tracked.txt", "src/a.go", "a.go")
	check("version 2", true)
	run("update-index", "--index-version", "4")
	if Disposable(filepath.Join(dir, "build")) {
		t.Error("build, by an index of version 4, which is not read")
	}
	run("update-index", "--index-version", "2")
	run("update-index", "--split-index")
	if Disposable(filepath.Join(dir, "build")) {
		t.Error("build, by an index that is split")
	}
}

func TestRemote(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "a", "b")
	if address, branch := Remote(sub); address+branch != "" {
		t.Errorf("no repository: %q, %q", address, branch)
	}
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(dir, ".git", name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("HEAD", "ref: refs/heads/feature/x\n")
	config := "[core]\n\turl = no\n[remote \"fork\"]\n\turl = git@github.com:me/r.git\n"
	for _, c := range []struct{ config, want string }{
		{config, "git@github.com:me/r.git"},
		{config + "[remote \"origin\"]\n\turl=https://github.com/o/r\n[branch \"url\"]\n url = no\n", "https://github.com/o/r"},
		{config + "[remote \"origin\"]\nurl=a\n[remote \"upstream\"]\nurl=b\n", "b"},
		{"[core]\n", ""},
	} {
		write("config", c.config)
		if address, branch := Remote(sub); address != c.want || branch != "feature/x" {
			t.Errorf("%q: %q, %q", c.config, address, branch)
		}
	}
	write("HEAD", "0123456789\n")
	if _, branch := Remote(dir); branch != "" {
		t.Errorf("no branch: %q", branch)
	}
}

package worktree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// newTrees returns trees for a repository with one commit of a.txt.
func newTrees(t *testing.T, tiers ...sandbox.Launcher) (*worktree.Trees, string) {
	t.Helper()
	needtest.Program(t, "git")
	if tiers == nil {
		tiers = []sandbox.Launcher{&kernel.Launcher{}}
		needtest.Sandbox(t, tiers[0])
	}
	repo, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, repo, "a.txt", "one\n")
	for _, args := range []string{"init -q -b main", "add -A", "-c user.name=ann -c user.email=a@b commit -q -m first"} {
		git(t, repo, strings.Fields(args)...)
	}
	return &worktree.Trees{
		Dir: filepath.Join(t.TempDir(), "worktrees"), Programs: &program.Runner{Tiers: sandbox.NewTiers(tiers...)},
		Workspace:  func(context.Context) (string, error) { return repo, nil },
		Checkpoint: func(context.Context, string) func() { return func() {} },
	}, repo
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

func write(t *testing.T, dir, name, content string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// open returns a new tree.
func open(t *testing.T, trees *worktree.Trees, name string) worktree.Tree {
	t.Helper()
	tree, err := trees.Plan(t.Context(), name)
	if err == nil {
		err = trees.Open(t.Context(), worktree.Work{Tree: tree, ID: "id", Agent: "coder"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

// TestTenTrees makes ten trees of one repository at once, and merges them all.
func TestTenTrees(t *testing.T) {
	t.Parallel()
	trees, repo := newTrees(t)
	var all sync.WaitGroup
	changes := make([]string, 10)
	for i := range changes {
		all.Go(func() {
			tree := open(t, trees, fmt.Sprint("t", i))
			write(t, trees.Path(tree), fmt.Sprintf("f%d.txt", i), "new\n")
			if err := trees.Open(t.Context(), worktree.Work{Tree: tree, ID: "id", Agent: "coder"}); err != nil { // another attempt changes nothing
				t.Error(err)
			}
			var others sync.WaitGroup
			said := make([]string, 3) // of one the changes, whichever comes first
			for j := range said {
				others.Go(func() {
					words, err := trees.Collect(t.Context(), tree, "label")
					if err == nil {
						said[j] = words
					} else if !errors.Is(err, worktree.ErrBusy) && !errors.Is(err, worktree.ErrCollected) {
						t.Error(err)
					}
				})
			}
			others.Wait()
			changes[i] = strings.Join(said, "")
			if again, err := trees.Collect(t.Context(), tree, "label"); !strings.Contains(again, tree.Branch()) || !errors.Is(err, worktree.ErrCollected) {
				t.Errorf("again: %q, %v", again, err)
			}
		})
	}
	all.Wait()
	for i, said := range changes {
		for _, want := range []string{fmt.Sprintf("on the branch subagent/t%d:", i), fmt.Sprintf("f%d.txt | 1 +", i), "+new"} {
			if !strings.Contains(said, want) {
				t.Errorf("%d lacks %q:\n%s", i, want, said)
			}
		}
		if said, err := trees.Merge(t.Context(), worktree.Tree{Name: fmt.Sprint("t", i), Repo: repo}, "coder"); err != nil {
			t.Errorf("%s %v", said, err)
		}
	}
	if files, _ := filepath.Glob(filepath.Join(repo, "f*.txt")); len(files) != 10 {
		t.Errorf("files %q", files)
	}
	if left, _ := os.ReadDir(trees.Dir); len(left) > 0 {
		t.Errorf("%d trees are left", len(left))
	}
	git(t, repo, "fsck", "--strict")
}

// TestTrees checks what becomes of the work in a tree.
func TestTrees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		work  func(t *testing.T, dir string) // of the subagent
		here  func(t *testing.T, repo string)
		says  string // "" for no changes
		merge string // words of the error
	}{
		"nothing":  {work: func(*testing.T, string) {}},
		"a change": {work: func(t *testing.T, dir string) { write(t, dir, "a.txt", "two\n") }, says: "-one\n+two"},
		"a commit": {work: func(t *testing.T, dir string) {
			write(t, dir, "b", "b\n")
			git(t, dir, "add", "b")
			git(t, dir, "commit", "-qm", "x")
		}, says: "+b"},
		"another branch": {work: func(t *testing.T, dir string) { git(t, dir, "switch", "-qc", "mine"); write(t, dir, "b", "b\n") }, says: "+b"},
		"ignored files":  {work: func(t *testing.T, dir string) { write(t, dir, ".gitignore", "out\n"); write(t, dir, "out", "x") }, says: "+out"},
		"a conflict": {
			work: func(t *testing.T, dir string) { write(t, dir, "a.txt", "two\n") },
			here: func(t *testing.T, repo string) {
				write(t, repo, "a.txt", "three\n")
				git(t, repo, "-c", "user.name=a", "-c", "user.email=b", "commit", "-qam", "y")
			},
			says: "+two", merge: "conflicts with your branch in a.txt; nothing was changed",
		},
		"own changes": {
			work: func(t *testing.T, dir string) { write(t, dir, "a.txt", "two\n") },
			here: func(t *testing.T, repo string) { write(t, repo, "a.txt", "three\n") },
			says: "+two", merge: "commit or undo your own changes",
		},
		"hooks and filters": {
			work: func(t *testing.T, dir string) {
				write(t, dir, ".gitattributes", "* filter=evil\n")
				git(t, dir, "config", "filter.evil.clean", "touch /tmp/evil-filter; cat")
				write(t, filepath.Join(dir, ".git", "hooks"), "post-commit", "#!/bin/sh\ntouch "+t.TempDir()+"/ran\n")
				write(t, dir, "b", "b\n")
			}, says: "+b",
		},
		"not a repository any more": {work: func(t *testing.T, dir string) { os.RemoveAll(filepath.Join(dir, ".git")) }, says: "ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			trees, repo := newTrees(t)
			tree := open(t, trees, "x")
			c.work(t, trees.Path(tree))
			if c.here != nil {
				c.here(t, repo)
			}
			before := git(t, repo, "status", "--porcelain") + git(t, repo, "rev-parse", "HEAD")
			said, err := trees.Collect(t.Context(), tree, "label")
			if c.says == "ERROR" {
				if _, left := os.Stat(trees.Path(tree)); err == nil || left != nil {
					t.Errorf("%v, %v", err, left)
				}
				return
			}
			if err != nil || !strings.Contains(said, c.says) || c.says == "" && said != "" {
				t.Errorf("%v\n%s", err, said)
			}
			if after := git(t, repo, "status", "--porcelain") + git(t, repo, "rev-parse", "HEAD"); after != before {
				t.Errorf("the repository was %s and is %s", before, after)
			}
			if c.says == "" {
				return
			}
			_, err = trees.Merge(t.Context(), tree, "coder")
			if c.merge == "" && err != nil || c.merge != "" && (err == nil || !strings.Contains(err.Error(), c.merge)) {
				t.Errorf("merge: %v", err)
			}
			if c.merge != "" {
				if after := git(t, repo, "status", "--porcelain") + git(t, repo, "rev-parse", "HEAD"); after != before {
					t.Errorf("the repository was %s and is %s", before, after)
				}
			}
			if err := trees.Drop(t.Context(), tree); err != nil {
				t.Error(err)
			}
		})
	}
	if _, err := os.Stat("/tmp/evil-filter"); err == nil {
		t.Error("a filter ran outside the sandbox")
	}
}

// TestAKilledProcess checks what a process leaves that is killed while it collects a tree, or before the subagent is marked as ended.
func TestAKilledProcess(t *testing.T) {
	t.Parallel()
	trees, repo := newTrees(t)
	tree := open(t, trees, "x")
	write(t, trees.Path(tree), "b", "b\n")
	locks := filepath.Join(repo, ".git/refs/heads/subagent")
	if err := os.MkdirAll(locks, 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, locks, "x.lock", "")
	for _, name := range []string{"index.lock", "HEAD.lock", "refs/heads/subagent/x.lock"} {
		write(t, filepath.Join(trees.Path(tree), ".git"), name, "")
	}
	first, err := trees.Collect(t.Context(), tree, "label")
	if err != nil || !strings.Contains(first, "+b") {
		t.Fatalf("with locks: %v\n%s", err, first)
	}
	git(t, repo, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "meanwhile")
	for _, more := range []string{"", "c"} { // the next attempts
		if err := trees.Open(t.Context(), worktree.Work{Tree: tree, ID: "id", Agent: "coder"}); err != nil {
			t.Fatal(err)
		}
		want := first
		if more != "" {
			write(t, trees.Path(tree), more, "c\n")
			want = "2 files changed"
		}
		if said, err := trees.Collect(t.Context(), tree, "label"); err != nil || !strings.Contains(said, want) {
			t.Errorf("attempt %q: %v\n%s", more, err, said)
		}
	}
	if got := git(t, repo, "ls-tree", "--name-only", tree.Branch()); got != "a.txt\nb\nc" {
		t.Errorf("the branch has %q", got)
	}
	git(t, repo, "fsck", "--strict")
}

// TestAuthor checks that agents without a name that git takes have commits and merges.
func TestAuthor(t *testing.T) {
	t.Parallel()
	for _, agent := range []string{"", "..."} {
		trees, repo := newTrees(t)
		tree, err := trees.Plan(t.Context(), "x")
		if err == nil {
			err = trees.Open(t.Context(), worktree.Work{Tree: tree, ID: "id", Agent: agent})
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, trees.Path(tree), "b", "b\n")
		if said, err := trees.Collect(t.Context(), tree, "label"); err != nil {
			t.Fatalf("%q: %v %s", agent, err, said)
		}
		git(t, repo, "-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "meanwhile")
		if said, err := trees.Merge(t.Context(), tree, agent); err != nil {
			t.Errorf("%q: %v %s", agent, err, said)
		}
		for _, commit := range []string{tree.Branch(), "HEAD"} {
			if got := git(t, repo, "log", "-1", "--format=%an", commit); got != "agent" {
				t.Errorf("%q: the author of %s is %q", agent, commit, got)
			}
		}
	}
}

// TestNoTree checks the reasons why there is no tree.
func TestNoTree(t *testing.T) {
	t.Parallel()
	trees, repo := newTrees(t)
	unsafe, _ := newTrees(t, host.Launcher{})
	if _, err := unsafe.Plan(t.Context(), "x"); tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("without a sandbox: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(repo, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := trees.Plan(t.Context(), "x"); tool.AsError(err).Kind != tool.Invalid {
		t.Errorf("no repository: %v", err)
	}
	git(t, repo, "init", "-q")
	if _, err := trees.Plan(t.Context(), "x"); tool.AsError(err).Kind != tool.Unavailable {
		t.Errorf("no commit: %v", err)
	}
}

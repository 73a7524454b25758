package agents

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// A carpenter writes a file for each attempt, and ends if its task is short. Otherwise it waits for its end.
type carpenter struct{ works chan string }

func (c carpenter) Run(ctx context.Context, r *Run) (string, error) {
	dir := r.Grant().Caller.Workspace
	name := filepath.Join(dir, fmt.Sprint(r.Task(), r.Attempt()))
	if err := os.WriteFile(name, []byte("wood\n"), 0o644); err != nil {
		return "", err
	}
	if r.Task() == "short" || r.Attempt() > 1 {
		return "done", nil
	}
	c.works <- dir
	<-ctx.Done()
	return "", context.Cause(ctx)
}

// newTrees returns the trees of a server, and git in a repository with one commit.
func newTrees(t *testing.T) (trees *worktree.Trees, repo string, git func(args ...string) string) {
	repo, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	git = func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	git("init", "-q", "-b", "main")
	git("-c", "user.name=a", "-c", "user.email=b", "commit", "-q", "--allow-empty", "-m", "first")
	return &worktree.Trees{
		Dir: t.TempDir(), Programs: &program.Runner{Tiers: sandbox.NewTiers(&kernel.Launcher{})},
		Workspace:  func(context.Context) (string, error) { return repo, nil },
		Checkpoint: func(context.Context, string) func() { return func() {} },
	}, repo, git
}

func needsTrees(t *testing.T) {
	needtest.Program(t, "git")
	needtest.Sandbox(t, &kernel.Launcher{})
}

// TestWorkingTrees checks that the work of a subagent becomes a branch when it has ended, been cancelled, or gone on in another process.
func TestWorkingTrees(t *testing.T) {
	needsTrees(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		trees, repo, git := newTrees(t)
		w, lead, works := newWorld(t, s), caller("lead", "s1"), make(chan string, 10)
		open := func() *Engine {
			return w.open(func(o *Options) {
				o.Trees, o.Executors = trees, map[string]Executor{"carpenter": carpenter{works}}
			})
		}
		w.engine = open()
		start := func(task string) string {
			t.Helper()
			id, err := w.engine.Spawn(w.as(lead), Spawn{Kind: "carpenter", Task: task, Tree: true})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		short := start("short")
		k := w.end(lead, short)
		want(t, "the report", report(k), "on the branch subagent/short-", "short1 | 1 +", "action merge or drop and id "+short)
		res, _ := w.spawn(lead, `{"action":"merge","id":"`+short+`"}`)
		want(t, "the merge", res.Text(), "Merged subagent/short-")
		if _, err := os.Stat(filepath.Join(repo, "short1")); err != nil {
			t.Error(err)
		}
		res, _ = w.spawn(lead, `{"action":"drop","id":"`+short+`"}`)
		want(t, "the drop", res.Text(), "Dropped the branch subagent/short-")

		cancelled := start("long")
		<-works
		w.spawn(lead, `{"action":"cancel","id":"`+cancelled+`"}`)
		w.end(lead, cancelled)

		moved := start("longer")
		dir := <-works
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(filepath.Join(dir, "longer1")); err != nil {
			t.Errorf("work is lost with the process: %v", err)
		}
		w.engine = open()
		w.engine.Start()
		want(t, "the report", report(w.end(lead, moved)), "on the branch subagent/longer-", " longer1 ", " longer2 ")
		if branches := git("branch", "--list", "subagent/*"); strings.Count(branches, "subagent/long-") != 1 || strings.Contains(branches, "short") {
			t.Errorf("the branches are %s", branches)
		}

		verb := verbsOf(t, s, trees)
		want(t, "the list", verb("list", `{}`), moved+" lead ada", " done longer subagent/longer-", " cancelled long subagent/long-")
		want(t, "a subagent", verb("show", `{"id":"`+moved+`"}`), "Task: longer\n", "Result:\ndone\n", " longer2 ")
		want(t, "a merge", verb("merge", `{"id":"`+moved+`"}`), "Merged subagent/longer-")
		if _, err := os.Stat(filepath.Join(repo, "longer2")); err != nil {
			t.Error(err)
		}
		want(t, "a drop", verb("drop", `{"id":"`+cancelled+`"}`), "deletes the branch subagent/long-", "Dropped the branch subagent/long-")
		want(t, "a second drop", verb("drop", `{"id":"`+cancelled+`"}`), "there is no branch subagent/long-")
		want(t, "an unknown one", verb("merge", `{"id":"x"}`), `there is no subagent "x"`)
		waits := start("longest")
		<-works
		want(t, "a running one", verb("merge", `{"id":"`+waits+`"}`), "this subagent has not ended")
		w.spawn(lead, `{"action":"cancel","id":"`+waits+`"}`)
		w.end(lead, waits)
	})
}

// TestTreesOfTheDead checks that the work of subagents becomes branches that have ended while no server worked for them.
func TestTreesOfTheDead(t *testing.T) {
	needsTrees(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		trees, repo, git := newTrees(t)
		w, lead, works := newWorld(t, s), caller("lead", "s1"), make(chan string, 10)
		open := func() *Engine {
			return w.open(func(o *Options) {
				o.Trees, o.Executors = trees, map[string]Executor{"carpenter": carpenter{works}}
			})
		}
		w.engine = open()
		var ids []string
		for _, task := range []string{"cancelled", "tenth", "gone", "begun"} {
			if task == "gone" {
				trees.Workspace = func(context.Context) (string, error) { return elsewhere(t, repo), nil }
			}
			id, err := w.engine.Spawn(w.as(lead), Spawn{Kind: "carpenter", Task: task, Tree: true})
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
			<-works
		}
		if err := w.engine.Close(); err != nil {
			t.Error(err)
		}
		w.engine = open()
		for i, id := range ids {
			k, err := w.engine.get(t.Context(), lead, id)
			if err != nil {
				t.Fatal(err)
			}
			switch i {
			case 1: // its last server was killed
				if err := s.Update(t.Context(), func(tx *store.Tx) error {
					_, err := tx.Exec("UPDATE job SET state = 'running', attempt = attempts, run_at = 1 WHERE id = $1", id)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				continue
			case 2: // so is its repository
				err = os.RemoveAll(k.Tree.Repo)
			case 3: // its server was killed while the tree was made
				err = os.Remove(filepath.Join(trees.Dir, k.Tree.Name, "base"))
			}
			if err != nil {
				t.Fatal(err)
			}
			w.spawn(lead, `{"action":"cancel","id":"`+id+`"}`)
		}
		open().Start() // two servers with one data directory
		open().Start()
		eventually(t, func() bool {
			left, err := os.ReadDir(trees.Dir)
			return err == nil && len(left) == 1 && strings.HasPrefix(left[0].Name(), "gone-")
		})
		branches := git("branch", "--list", "subagent/*")
		want(t, "the branches", branches, "subagent/cancelled-", "subagent/tenth-")
		if strings.Count(branches, "subagent/") != 2 {
			t.Error(branches)
		}
		for i, words := range []string{" cancelled1 ", " tenth1 "} {
			var k kept
			eventually(t, func() bool {
				var err error
				k, err = w.engine.get(t.Context(), lead, ids[i])
				return err == nil && k.State.Final() && strings.Contains(k.Changes, words) // of the server that has collected it
			})
			want(t, "the report", k.Changes, "on the branch subagent/")
		}
		if kept, err := filepath.Glob(filepath.Join(trees.Dir, "gone-*", "work", "gone1")); err != nil || len(kept) != 1 {
			t.Errorf("the work for a repository that is gone: %q, %v", kept, err)
		}
	})
}

// elsewhere returns a copy of a repository.
func elsewhere(t *testing.T, repo string) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "git", "clone", "-q", repo, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// eventually waits until f returns true.
func eventually(t *testing.T, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(hang); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not happen")
		}
	}
}

// verbsOf returns a function that calls a verb of the room, and returns its question, its text and its error.
func verbsOf(t *testing.T, s *store.Store, trees *worktree.Trees) func(name, args string) string {
	of := Room(func() (*worktree.Trees, error) { return trees, nil })
	return func(name, args string) string {
		t.Helper()
		v, _ := of.Verb(name)
		plan, err := of.Prepare(t.Context(), v, &room.Host{Store: s}, []byte(args))
		if err != nil {
			return err.Error()
		}
		res, err := plan.Run(t.Context())
		if err != nil {
			return err.Error()
		}
		said := plan.Ask + "\n" + res.Text()
		if table, ok := res.Data.(room.Table); ok {
			for _, row := range table.Rows {
				said += "\n" + strings.Join(row, " ")
			}
		}
		return said
	}
}

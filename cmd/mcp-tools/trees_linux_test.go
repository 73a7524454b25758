package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// TestTenTreesOfAKilledServer has ten subagents write in working trees of one repository. Their server is killed while some trees
// are made and others have work without a commit, and the next server while work becomes branches.
func TestTenTreesOfAKilledServer(t *testing.T) {
	t.Parallel() // it waits for the leases of the killed servers
	if f := (&kernel.Launcher{}).Probe(t.Context()); !f.Works {
		needtest.Lacking(t, "kernel sandbox", f.Text)
	}
	needtest.Program(t, "git")
	const total, beforeKill = 10, 5
	data, repo, err := t.TempDir(), t.TempDir(), error(nil)
	if repo, err = filepath.EvalSymlinks(repo); err != nil {
		t.Fatal(err)
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-c", "user.name=ann", "-c", "user.email=a@b"}, args...)...)
		cmd.Dir = repo
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q", "-b", "main")
	git("commit", "-q", "--allow-empty", "-m", "first")
	state := func() string {
		return git("rev-parse", "HEAD") + git("branch", "--show-current") + git("status", "--porcelain", "--ignored")
	}
	branches := func() []string {
		return strings.Fields(git("for-each-ref", "--format=%(refname:short)", "refs/heads/subagent"))
	}
	before := state()

	model, wrote, killed := llmtest.New(t), make(chan struct{}, 10*total), make(chan struct{})
	model.Answer(func(r llmtest.Request) llmtest.Turn {
		n := strings.TrimPrefix(r.Messages[0].Text, "write number ")
		if results := r.Last().Results; len(results) == 0 || strings.HasPrefix(results[0].Text, "unknown:") {
			return llmtest.Turn{Calls: []llm.ToolCall{
				llmtest.Call(fmt.Sprint("call-", len(r.Messages)), "write_file", map[string]string{"path": n + ".txt", "content": n}),
			}}
		}
		wrote <- struct{}{}
		turn := llmtest.Say("wrote %s", n)
		turn.Wait = killed
		return turn
	})
	settings := modelSettings(model, "subagents: {running: 10, children: 10}\n")
	first := startParent(t, data, repo, settings)
	var ids []string
	for n := range total {
		got := first.call("spawn", map[string]any{"task": fmt.Sprint("write number ", n), "label": fmt.Sprint("number ", n), "worktree": true})
		if !strings.Contains(got, "accepted") {
			t.Fatal(got)
		}
		ids = append(ids, subagentID(t, got))
	}
	for range beforeKill {
		waitFor(t, wrote)
	}
	first.kill()
	if made := branches(); len(made) > 0 || state() != before {
		t.Fatalf("before a subagent has ended the branches are %q, and the repository is %q instead of %q", made, state(), before)
	}
	close(killed)
	second := startParent(t, data, repo, settings)
	eventually(t, "a branch is made", func() bool { return len(branches()) > 0 })
	second.kill()
	third := startParent(t, data, repo, settings)
	for n, id := range ids {
		got := third.call("spawn", map[string]any{"action": "wait", "id": id})
		for _, want := range []string{"completed", fmt.Sprint("wrote ", n), fmt.Sprintf("on the branch subagent/number-%d-", n), fmt.Sprintf("%d.txt | 1 +", n)} {
			if !strings.Contains(got, want) {
				t.Errorf("the report of subagent %d lacks %q:\n%s", n, want, got)
			}
		}
	}
	if err := third.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := third.cmd.Wait(); err != nil {
		t.Errorf("the server ends with %v", err)
	}

	var files []string
	for _, branch := range branches() {
		files = append(files, git("ls-tree", "-r", "--name-only", branch))
		if n := strings.TrimSuffix(files[len(files)-1], ".txt"); !strings.HasPrefix(branch, "subagent/number-"+n+"-") || git("show", branch+":"+n+".txt") != n {
			t.Errorf("the branch %s has the files %q", branch, files[len(files)-1])
		}
	}
	slices.Sort(files)
	if files = slices.Compact(files); len(files) != total {
		t.Errorf("the branches have %q", files)
	}
	if after := state(); after != before {
		t.Errorf("the repository was %q and is %q", before, after)
	}
	git("fsck", "--strict")
	if left, err := os.ReadDir(filepath.Join(data, "worktrees")); err != nil || len(left) > 0 {
		t.Errorf("%d trees are left: %v, %v", len(left), left, err)
	}
	eventually(t, "no process is left", func() bool { return len(processesOf(t, data, repo)) == 0 })
}

// processesOf returns the processes with arguments or a working directory that name one of the directories.
func processesOf(t *testing.T, dirs ...string) (found []string) {
	t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, at := range all {
		line, _ := os.ReadFile(filepath.Join(at, "cmdline")) // it may have ended
		cwd, _ := os.Readlink(filepath.Join(at, "cwd"))
		if slices.ContainsFunc(dirs, func(dir string) bool { return strings.Contains(string(line)+"\x00"+cwd, dir) }) {
			found = append(found, string(line))
		}
	}
	return found
}

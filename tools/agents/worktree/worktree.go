// Package worktree gives subagents working trees of their own, so that several work on one git repository at once and
// none sees the unfinished work of another.
//
// A tree is a clone of the last commit, without its history, and no worktree in the sense of git: commands in it reach
// nothing of the repository, neither its objects nor its settings. When the subagent has ended its work becomes a branch of the
// repository, and the clone is removed. Git runs in a sandbox that sees the two directories and no network, because the
// settings of a repository can run programs.
//
// The package knows git and directories. It does not know agents. Begin with [Trees.Plan].
package worktree

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/private"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// Trees makes and removes working trees in a directory of the server.
type Trees struct {
	Dir      string
	Programs *program.Runner
	// Workspace returns the real directory of the caller's workspace.
	Workspace func(ctx context.Context) (string, error)
	// Checkpoint keeps the files of the caller for undo while git changes them. It may be nil.
	Checkpoint func(ctx context.Context, command string) (ended func())
}

// A Tree is the working tree of one subagent.
type Tree struct {
	Name string // its directory, and the end of the name of its branch
	Repo string // the directory of the repository
}

// Branch returns the branch that the work of the subagent becomes.
func (t Tree) Branch() string { return "subagent/" + t.Name }

// Plan returns a new tree for the caller's workspace. It makes nothing yet.
func (t *Trees) Plan(ctx context.Context, name string) (Tree, error) {
	repo, err := t.Workspace(ctx)
	if err != nil {
		return Tree{}, err
	}
	if info, err := os.Lstat(filepath.Join(repo, ".git")); err != nil || !info.IsDir() {
		return Tree{}, tool.Errorf(tool.Invalid, "the workspace is not the directory of a git repository").
			Try("leave worktree out, or make a repository with git init and a first commit")
	}
	if _, err := t.git(ctx, repo, nil, []string{repo}, "rev-parse", "--verify", "--quiet", "HEAD^{commit}"); err != nil {
		return Tree{}, tool.Errorf(tool.Unavailable, "git finds no commit in the workspace").Because(err).
			Try("commit something first, or leave worktree out")
	}
	return Tree{Name: name, Repo: repo}, nil
}

// Path returns the directory of a tree. [Trees.Open] makes it.
func (t *Trees) Path(tree Tree) string { return filepath.Join(t.Dir, tree.Name, "work") }

// A Work is the subagent that works in a tree.
type Work struct {
	Tree
	ID    string // of the subagent
	Agent string // the author of its commits
	Label string
}

// owner returns the file with the Work of a tree. It is written first, and locked by the process that collects the tree.
func (t *Trees) owner(name string) string { return filepath.Join(t.Dir, name, "owner") }

// All returns the work in all trees of the directory. A tree that is just being made or removed may be missing.
func (t *Trees) All() (list []Work, err error) {
	names, err := os.ReadDir(t.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, entry := range names {
		var w Work
		content, err := os.ReadFile(t.owner(entry.Name()))
		if err == nil && json.Unmarshal(content, &w) == nil && w.Name == entry.Name() {
			list = append(list, w)
		}
	}
	return list, nil
}

// base returns the file with the commit that a tree began with. Commands in the tree do not reach it.
func (t *Trees) base(tree Tree) string { return filepath.Join(t.Dir, tree.Name, "base") }

// Open makes a tree, unless it is there. If the work is a branch already, because a process died
// between [Trees.Collect] and the end of the subagent, the tree begins with that branch.
func (t *Trees) Open(ctx context.Context, w Work) error {
	tree := w.Tree
	if _, err := os.Stat(t.base(tree)); err == nil {
		return nil // of an attempt whose process has died
	}
	path := t.Path(tree)
	if err := errors.Join(os.RemoveAll(path), os.MkdirAll(path, 0o700)); err != nil {
		return err
	}
	owner, err := json.Marshal(w)
	if err == nil {
		err = writeWhole(t.owner(tree.Name), owner)
	}
	if err != nil {
		return err
	}
	both := func(args ...string) error {
		_, err := t.git(ctx, path, []string{tree.Repo}, []string{path}, args...)
		return err
	}
	head, err := t.git(ctx, tree.Repo, []string{tree.Repo}, nil, "for-each-ref", "--format=%(objectname)", "refs/heads/"+tree.Branch())
	if err != nil {
		return fmt.Errorf("looking for the branch: %w", err)
	}
	clone := []string{"clone", "--quiet", "--depth=1", "--no-tags"}
	if head != "" {
		clone = append(clone, "--branch", tree.Branch())
	}
	if err := both(append(clone, "file://"+tree.Repo, ".")...); err != nil {
		return fmt.Errorf("cloning the last commit: %w", err)
	}
	for _, args := range [][]string{
		{"remote", "remove", "origin"}, {"switch", "--quiet", "--force-create", tree.Branch()},
		{"config", "user.name", author(w.Agent)}, {"config", "user.email", "agent@localhost"},
	} {
		if err := both(args...); err != nil {
			return err
		}
	}
	var base string
	if head == "" {
		base, err = t.git(ctx, path, nil, []string{path}, "rev-parse", "HEAD")
	} else {
		base, err = t.git(ctx, tree.Repo, []string{tree.Repo}, nil, "merge-base", "HEAD", strings.TrimSpace(head))
	}
	if err != nil {
		return err
	}
	return writeWhole(t.base(tree), []byte(strings.TrimSpace(base)))
}

// writeWhole writes a file that is whole as soon as it has its name.
func writeWhole(name string, content []byte) error {
	if err := os.WriteFile(name+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// author returns the name of an agent as git takes it: not empty, also for the caller of a server without agents.
func author(agent string) string { return cmp.Or(strings.Trim(agent, " .,:;<>\"\\'"), "agent") }

const (
	// maxDiff is how much of a difference a result has, in bytes.
	maxDiff = 16 << 10
	// maxOutput bounds the output of git.
	maxOutput = 1 << 20
	// maxTime bounds one run of git.
	maxTime = 2 * time.Minute
)

var (
	// ErrBusy is the error of [Trees.Collect] if another process collects the tree.
	ErrBusy = errors.New("another server collects the working tree")
	// ErrCollected is the error of [Trees.Collect] if the tree is gone, or was never whole.
	ErrCollected = errors.New("the working tree was collected before")
	// ErrNoRepository is the error of [Trees.Collect] if the directory of the repository does not exist.
	ErrNoRepository = errors.New("the repository of the working tree does not exist")
)

// Collect makes a branch of the work in a tree, and removes the tree. It returns the changes in words, "" if there are
// none. With [ErrCollected] it returns all that is known of them. If it fails otherwise the tree stays, for another attempt.
func (t *Trees) Collect(ctx context.Context, tree Tree, label string) (changes string, err error) {
	path := t.Path(tree)
	lock, err := os.OpenFile(t.owner(tree.Name), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return t.known(ctx, tree), ErrCollected
	}
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if taken, err := private.TryLock(lock); err != nil || !taken {
		return "", cmp.Or(err, ErrBusy)
	}
	base, err := os.ReadFile(t.base(tree))
	if errors.Is(err, fs.ErrNotExist) { // another process may have had the lock until now
		return t.known(ctx, tree), cmp.Or(os.RemoveAll(filepath.Dir(path)), ErrCollected)
	}
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(tree.Repo); errors.Is(err, fs.ErrNotExist) {
		return "", ErrNoRepository
	}
	if err := unlock(tree, path); err != nil {
		return "", fmt.Errorf("removing locks of git: %w", err)
	}
	own := func(args ...string) (string, error) { return t.git(ctx, path, nil, []string{path}, args...) }
	if _, err := own("add", "--all"); err != nil {
		return "", err
	}
	if left, err := own("status", "--porcelain"); err != nil {
		return "", err
	} else if left != "" {
		if _, err := own("commit", "--quiet", "--no-verify", "--message", "Work of the subagent "+label); err != nil {
			return "", err
		}
	}
	head, err := own("rev-parse", "HEAD")
	if err != nil {
		return "", err
	}
	if head = strings.TrimSpace(head); head != string(base) {
		if changes, err = t.branch(ctx, tree, string(base), head); err != nil {
			return "", err
		}
	}
	// The base goes first: without it the tree has been collected.
	return changes, errors.Join(os.Remove(t.base(tree)), os.RemoveAll(filepath.Dir(path)))
}

// known returns in words where the changes of a tree are that was collected before, or "".
func (t *Trees) known(ctx context.Context, tree Tree) string {
	head, err := t.git(ctx, tree.Repo, []string{tree.Repo}, nil, "for-each-ref", "--format=%(objectname)", "refs/heads/"+tree.Branch())
	if err != nil || head == "" {
		return ""
	}
	return fmt.Sprintf("Its changes are on the branch %s.", tree.Branch())
}

// unlock removes the locks that git has left in a tree, and at its branch, when it was killed. Nothing else works there any more.
func unlock(tree Tree, path string) error {
	work, err := os.OpenRoot(path)
	if err != nil {
		return err
	}
	defer work.Close()
	locks := []string{".git/index.lock", ".git/HEAD.lock", ".git/packed-refs.lock"}
	err = fs.WalkDir(work.FS(), ".git/refs", func(name string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(name, ".lock") {
			locks = append(locks, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	repo, err := os.OpenRoot(tree.Repo)
	if err != nil {
		return err
	}
	defer repo.Close()
	errs := []error{repo.Remove(".git/refs/heads/" + tree.Branch() + ".lock")}
	for _, name := range locks {
		errs = append(errs, work.Remove(name))
	}
	for _, err := range errs {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// branch fetches a commit of a tree as its branch, and describes it.
func (t *Trees) branch(ctx context.Context, tree Tree, base, head string) (string, error) {
	path := t.Path(tree)
	if _, err := t.git(ctx, tree.Repo, []string{path}, []string{tree.Repo}, "fetch", "--quiet", "--no-tags", "--no-write-fetch-head",
		"file://"+path, "+HEAD:refs/heads/"+tree.Branch()); err != nil {
		return "", fmt.Errorf("fetching the work: %w", err)
	}
	diff := func(more ...string) (string, error) {
		return t.git(ctx, tree.Repo, nil, []string{tree.Repo}, append([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", base, head}, more...)...)
	}
	stat, err := diff("--stat=100")
	if err != nil {
		return "", err
	}
	whole, err := diff()
	if err != nil && !errors.Is(err, errLong) {
		return "", err
	}
	if len(whole) > maxDiff {
		whole = text.Clip(whole, maxDiff) + "\n[cut; the branch has all]"
	}
	return fmt.Sprintf("Its changes are on the branch %s:\n%s\n%s", tree.Branch(), strings.TrimRight(stat, "\n"), strings.TrimRight(whole, "\n")), nil
}

// Merge merges the branch of a tree into the branch that the repository is on. Conflicts change nothing.
func (t *Trees) Merge(ctx context.Context, tree Tree, agent string) (string, error) {
	if t.Checkpoint != nil {
		defer t.Checkpoint(ctx, "git merge "+tree.Branch())()
	}
	repo := func(args ...string) (string, error) {
		return t.git(ctx, tree.Repo, nil, []string{tree.Repo}, append([]string{"-c", "user.name=" + author(agent), "-c", "user.email=agent@localhost"}, args...)...)
	}
	if _, err := repo("rev-parse", "--verify", "--quiet", "refs/heads/"+tree.Branch()); err != nil {
		return "", tool.Errorf(tool.NotFound, "there is no branch %s", tree.Branch()).Try("it was dropped, or the subagent has changed nothing")
	}
	_, failed := repo("merge", "--no-edit", "--quiet", "--no-verify", "refs/heads/"+tree.Branch())
	if failed == nil {
		stat, err := repo("log", "--max-count=1", "--format=%h %s")
		return fmt.Sprintf("Merged %s: %s", tree.Branch(), strings.TrimSpace(stat)), err
	}
	conflicts, err := repo("diff", "--name-only", "--diff-filter=U")
	if err != nil || strings.TrimSpace(conflicts) == "" {
		return "", tool.Errorf(tool.Conflict, "git cannot merge %s: %s", tree.Branch(), text.Clip(failed.Error(), 500)).
			Try("commit or undo your own changes of these files first, then merge again")
	}
	if _, err := repo("merge", "--abort"); err != nil {
		return "", tool.Errorf(tool.Conflict, "%s conflicts with your branch, and the merge could not be taken back", tree.Branch()).
			Because(err).Try("run git merge --abort")
	}
	return "", tool.Errorf(tool.Conflict, "%s conflicts with your branch in %s; nothing was changed", tree.Branch(),
		strings.Join(strings.Fields(conflicts), ", ")).
		Try("apply its difference by hand with edit, or run git merge and resolve the conflicts")
}

// Drop deletes the branch of a tree.
func (t *Trees) Drop(ctx context.Context, tree Tree) error {
	_, err := t.git(ctx, tree.Repo, nil, []string{tree.Repo}, "branch", "--delete", "--force", tree.Branch())
	return err
}

// errLong means that git has written more than is kept.
var errLong = errors.New("the output of git is too long")

// git runs git in a directory, in the sandbox.
func (t *Trees) git(ctx context.Context, dir string, read, write []string, args ...string) (string, error) {
	tier, _, err := t.Programs.Tiers.Choose(ctx, sandbox.Local)
	if err != nil {
		return "", err
	}
	if !tier.Isolates() {
		return "", tool.Errorf(tool.Unavailable, "git needs a sandbox here, because the settings of a repository can run programs").
			Try("leave worktree out; mcp-tools doctor tells the operator how to get a sandbox")
	}
	var out limited
	err = t.Programs.Run(ctx, program.Spec{
		Argv: append([]string{"git", "-c", "safe.directory=*", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false",
			"-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "commit.gpgSign=false", "-c", "protocol.file.allow=always"}, args...),
		Env:  []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=true"},
		Tier: tier.Name(), Read: read, Write: write, Within: dir, Timeout: maxTime,
		Limits: sandbox.Limits{Memory: 1 << 30, Processes: 128, FileSize: 2 << 30, Temp: 256 << 20},
	}, nil, &out)
	if err != nil {
		return out.String(), err
	}
	return out.String(), nil
}

// limited keeps output, and fails if there is too much.
type limited struct{ bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	if l.Len()+len(p) > maxOutput {
		return 0, errLong
	}
	return l.Buffer.Write(p)
}

package agents

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
)

// planTree returns the working tree of a new subagent.
func (e *Engine) planTree(ctx context.Context, label string) (*worktree.Tree, error) {
	if e.Trees == nil {
		return nil, tool.Errorf(tool.Unavailable, "subagents have no working trees on this server").Try("leave worktree out")
	}
	tree, err := e.Trees.Plan(ctx, treeName(label))
	return &tree, err
}

// treeName returns the name of a tree: the words of a label, and letters that make it unique.
func treeName(label string) string {
	words := strings.FieldsFunc(strings.ToLower(label), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words[:min(len(words), 4)], "-")
	return strings.Trim(name[:min(len(name), 30)]+"-"+strings.ToLower(rand.Text()[:6]), "-")
}

// openTree makes the working tree of a subagent that has one.
func (e *Engine) openTree(ctx context.Context, id string, t task) error {
	if t.Tree == nil {
		return nil
	}
	if e.Trees == nil {
		return reason("the server that goes on with it has no working trees")
	}
	if err := e.Trees.Open(ctx, worktree.Work{Tree: *t.Tree, ID: id, Agent: t.Grant.Caller.Agent, Label: t.Label}); err != nil {
		e.Log.Error("a working tree could not be made", "name", t.Tree.Name, "err", err)
		return reason("its working tree could not be made")
	}
	return nil
}

// collectTime is the time to make a branch of the work of a subagent, also if it was cancelled.
const collectTime = 5 * time.Minute

// collectTree makes a branch of the work of a subagent that has ended, and keeps its changes for the report. The tree of one that
// goes on elsewhere stays.
func (e *Engine) collectTree(ctx context.Context, r *Run) {
	t := r.task
	if t.Tree == nil || ctx.Err() != nil && !errors.Is(context.Cause(ctx), jobs.ErrCancelled) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), collectTime)
	defer cancel()
	changes, err := e.Trees.Collect(ctx, *t.Tree, t.Label)
	before := errors.Is(err, worktree.ErrCollected)
	if err != nil && !before {
		e.Log.Error("the work of a subagent could not become a branch; its files are kept", "name", t.Tree.Name, "err", err)
		changes = "Its changes could not become a branch. They are kept on the server as " + t.Tree.Name + ": tell the operator."
	}
	e.reportChanges(ctx, r.ID(), t.Tree.Name, changes, before)
}

// reportChanges stores the changes of a subagent in words. If its tree was collected before, the report of the server that has
// collected it stays, or comes yet.
func (e *Engine) reportChanges(ctx context.Context, id, name, changes string, before bool) {
	query := "UPDATE subagent SET changes = $2 WHERE id = $1"
	if before {
		query += " AND changes = ''"
	}
	err := e.Store.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(query, id, e.Scrub(cmp.Or(changes, "It changed no file.")))
		return err
	})
	if err != nil {
		e.Log.Error("the changes of a subagent are not in its report", "name", name, "err", err)
	}
}

// collectAgain is the wait before another attempt to collect the tree of a subagent that no server works for.
const collectAgain = 10 * time.Minute

// collectLeft collects the trees of subagents that have ended while no server worked for them, until ctx ends: they were cancelled
// meanwhile, or their last server was killed.
func (e *Engine) collectLeft(ctx context.Context) {
	failed := map[string]time.Time{}
	e.Store.Work(ctx, "the working trees of ended subagents cannot be found; trying again", func(ctx context.Context) (next time.Duration, err error) {
		left, err := e.leftTrees(ctx)
		for _, w := range left {
			if at, before := failed[w.Name]; before && time.Since(at) < collectAgain {
				next = collectAgain
				continue
			}
			limited, cancel := context.WithTimeout(ctx, collectTime)
			changes, failure := e.Trees.Collect(limited, w.Tree, w.Label)
			cancel()
			if ctx.Err() != nil {
				return 0, nil
			}
			if before := errors.Is(failure, worktree.ErrCollected); failure == nil || before {
				e.Log.Info("the work of a subagent without a server was collected", "name", w.Name)
				e.reportChanges(ctx, w.ID, w.Name, changes, before)
				continue
			}
			if _, before := failed[w.Name]; !before && !errors.Is(failure, worktree.ErrBusy) {
				e.Log.Error("the work of a subagent could not become a branch; its files are kept", "name", w.Name, "err", failure)
			}
			failed[w.Name], next = time.Now(), collectAgain
		}
		return next, err
	}, jobs.Topic)
}

// leftTrees returns the trees of subagents that have ended.
func (e *Engine) leftTrees(ctx context.Context) (left []worktree.Work, err error) {
	all, err := e.Trees.All()
	if err != nil || len(all) == 0 {
		return nil, err
	}
	// The rows are read after the trees: a subagent has its row before its tree.
	var active []string
	err = e.Store.View(ctx, func(tx *store.Tx) error {
		active, err = store.List(tx, "SELECT id FROM subagent WHERE ended = 0", nil, store.One[string])
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		if !slices.Contains(active, w.ID) {
			left = append(left, w)
		}
	}
	return left, nil
}

// decide merges or drops the branch of a subagent.
func (e *Engine) decide(ctx context.Context, c tool.Caller, action, name string) (tool.Result, error) {
	chosen, err := e.choose(ctx, c, name)
	if err != nil {
		return tool.Result{}, err
	}
	switch {
	case len(chosen) != 1:
		return tool.Result{}, tool.Errorf(tool.Invalid, "%q stands for %d subagents", name, len(chosen)).Try("send the id of one")
	case chosen[0].Tree == nil || e.Trees == nil:
		return tool.Result{}, tool.Errorf(tool.Invalid, "this subagent has worked in your workspace").Try("undo reverts its changes")
	case !chosen[0].State.Final():
		return tool.Result{}, tool.Errorf(tool.Conflict, "this subagent has not ended").Try("wait for it, or cancel it")
	}
	tree := *chosen[0].Tree
	if action == "merge" {
		words, err := e.Trees.Merge(ctx, tree, c.Agent)
		return tool.Text(words), err
	}
	return tool.Textf("Dropped the branch %s.", tree.Branch()), dropBranch(ctx, e.Trees, tree)
}

func dropBranch(ctx context.Context, trees *worktree.Trees, tree worktree.Tree) error {
	if err := trees.Drop(ctx, tree); err != nil {
		return tool.Errorf(tool.NotFound, "there is no branch %s to drop", tree.Branch()).Because(err).
			Try("it was dropped before, or it is the current branch of the repository")
	}
	return nil
}

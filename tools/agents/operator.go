package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/terminal"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/agents/worktree"
)

// Room returns the verbs for operators to see subagents, and to merge or drop the branch of one. trees opens the
// working trees of this machine.
func Room(trees func() (*worktree.Trees, error)) *room.Room {
	o := &operator{trees: trees}
	return &room.Room{
		Name: "subagents", Title: "See subagents, and merge or drop their branches",
		Doc: `subagents shows the subagents that run on the servers with the same store, and for an hour
the ended ones. The work of one with a worktree is a branch of its repository, which
stays until somebody merges or drops it. mcp-tools stop ends a running subagent.`,
		Open: func(h *room.Host) error { o.Engine = New(Options{Store: h.Store}); return nil },
		Verbs: []room.Verb{
			room.Do(room.Verb{
				Name: "list", Title: "List the subagents of all agents", Risk: tool.Reads, Where: room.Operator,
			}, o.list),
			room.Do(room.Verb{
				Name: "show", Title: "Show the task, the result and the changes of a subagent", Args: []string{"id"},
				Risk: tool.Reads, Where: room.Operator, Complete: o.ids,
			}, o.show),
			room.Do(room.Verb{
				Name: "merge", Title: "Merge the branch of a subagent into the current branch of its repository", Args: []string{"id"},
				Risk: tool.Writes, Where: room.Operator, Complete: o.ids,
				Doc: `merge runs git merge in the repository. Conflicts change nothing. git reset --merge
ORIG_HEAD takes a merge back.`,
			}, o.merge),
			room.Prepare(room.Verb{
				Name: "drop", Title: "Delete the branch of a subagent, with its work", Args: []string{"id"},
				Risk: tool.Destroys, Where: room.Operator, Complete: o.ids,
			}, o.drop),
		},
	}
}

// An operator has the verbs of the room.
type operator struct {
	*Engine
	trees func() (*worktree.Trees, error)
}

// A Subagent is a subagent in a list for operators.
type Subagent struct {
	envelope
	User   string    `json:"user"`
	Began  time.Time `json:"began"`
	Branch string    `json:"branch,omitempty"` // of a subagent with a worktree
}

func subagentOf(k kept) Subagent {
	s := Subagent{envelope: envelopeOf(k.Job, k.task, k.progress), User: k.Grant.Caller.User, Began: k.Created}
	s.Agent = k.Grant.Caller.Agent
	if k.Tree != nil {
		s.Branch = k.Tree.Branch()
	}
	return s
}

// all returns the subagents of all agents, the latest first.
func (o *operator) all(ctx context.Context) (list []kept, err error) {
	err = o.Store.View(ctx, func(tx *store.Tx) error {
		list = nil
		found, err := o.queue.List(tx, "", jobs.Queued, jobs.Running, jobs.Done, jobs.Failed, jobs.Cancelled)
		if err != nil {
			return err
		}
		for _, j := range slices.Backward(found) {
			k, err := o.read(tx, j)
			if err != nil {
				return err
			}
			list = append(list, k)
		}
		return nil
	})
	return list, err
}

func (o *operator) list(ctx context.Context, _ struct{}) (tool.Result, error) {
	found, err := o.all(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	list := make([]Subagent, len(found))
	for i, k := range found {
		list[i] = subagentOf(k)
	}
	head := []string{"ID", "AGENT", "USER", "BEGAN", "STATE", "LABEL", "BRANCH"}
	return room.Rows(list, "No subagent runs, and none has ended within an hour.", head, func(s Subagent) []string {
		return []string{s.ID, cmp.Or(s.Agent, "-"), cmp.Or(s.User, "-"), s.Began.Local().Format(time.DateTime), s.Status,
			terminal.Short(s.Label, 60), cmp.Or(s.Branch, "-")}
	}), nil
}

// ids lists the ids of subagents.
func (o *operator) ids(ctx context.Context) (list []string, err error) {
	all, err := o.all(ctx)
	for _, k := range all {
		list = append(list, k.ID+"\t"+k.Label)
	}
	return list, err
}

type subagentArgs struct {
	ID string `json:"id" jsonschema:"the subagent, as in list"`
}

// one returns a subagent of any agent.
func (o *operator) one(ctx context.Context, id string) (k kept, err error) {
	err = o.Store.View(ctx, func(tx *store.Tx) error {
		j, err := o.queue.Get(tx, id)
		if err == nil {
			k, err = o.read(tx, j)
		}
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = tool.Errorf(tool.NotFound, "there is no subagent %q", id).
			Try("mcp-tools subagents list shows the ids; ended ones are forgotten after an hour")
	}
	return k, err
}

func (o *operator) show(ctx context.Context, args subagentArgs) (tool.Result, error) {
	k, err := o.one(ctx, args.ID)
	if err != nil {
		return tool.Result{}, err
	}
	s := subagentOf(k)
	said := fmt.Sprintf("Label: %s\nAgent: %s\nUser: %s\nState: %s, %s, %d turns, %d tokens\nTask: %s\n", tool.Visible(s.Label),
		cmp.Or(s.Agent, "-"), cmp.Or(s.User, "-"), s.Status, took(k.Job), s.Turns, s.Tokens, tool.Visible(k.Text))
	if k.Reason != "" {
		said += "Reason: " + tool.Visible(k.Reason) + "\n"
	}
	if k.Result != "" {
		said += "\nResult:\n" + tool.Visible(k.Result) + "\n"
	}
	if k.Changes != "" {
		said += "\n" + tool.Visible(k.Changes) + "\n"
	}
	return room.Said(s, "%s", said), nil
}

// branch returns the ended subagent with an id and a worktree, and the trees.
func (o *operator) branch(ctx context.Context, id string) (worktree.Tree, *worktree.Trees, error) {
	k, err := o.one(ctx, id)
	switch {
	case err != nil:
		return worktree.Tree{}, nil, err
	case k.Tree == nil:
		return worktree.Tree{}, nil, room.Mistake("this subagent has no branch: it worked in the workspace; mcp-tools undo reverts its changes")
	case !k.State.Final():
		return worktree.Tree{}, nil, tool.Errorf(tool.Conflict, "this subagent has not ended").Try("wait for it, or end it with mcp-tools stop")
	}
	trees, err := o.trees()
	return *k.Tree, trees, err
}

func (o *operator) merge(ctx context.Context, args subagentArgs) (tool.Result, error) {
	tree, trees, err := o.branch(ctx, args.ID)
	if err != nil {
		return tool.Result{}, err
	}
	said, err := trees.Merge(ctx, tree, cmp.Or(room.By(ctx).Name, "operator"))
	return room.Said(map[string]string{"branch": tree.Branch()}, "%s", said), err
}

func (o *operator) drop(ctx context.Context, args subagentArgs) (tool.Plan, error) {
	tree, trees, err := o.branch(ctx, args.ID)
	if err != nil {
		return tool.Plan{}, err
	}
	return tool.Plan{
		Risk: tool.Destroys, Ask: fmt.Sprintf("deletes the branch %s, with the work of the subagent", tree.Branch()),
		Run: func(ctx context.Context) (tool.Result, error) {
			return room.Said(map[string]string{"branch": tree.Branch()}, "Dropped the branch %s.", tree.Branch()), dropBranch(ctx, trees, tree)
		},
	}, nil
}

package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// keptAfter is how long the result of a subagent is there at least.
	keptAfter = 30 * time.Minute
	pollEvery = 2 * time.Second
)

// A follower makes subagents tasks for clients that follow tasks.
type follower struct{ engine *Engine }

// following adds a subagent that works in the background to the result of a call.
func (k kept) following(ctx context.Context, res tool.Result) tool.Result {
	if !tool.RunningFrom(ctx).Tasks {
		return res
	}
	t := k.followed()
	t.Message = "" // the text of the result says more
	return res.WithTask(t)
}

// followed returns a subagent as a task, without its result. One that has failed is
// completed: its result says why.
func (k kept) followed() tool.Task {
	t := tool.Task{
		ID: k.ID, Status: tool.TaskWorking, Message: fmt.Sprintf("%s, %d turns", status(k.State), k.Turns),
		Created: k.Created, Changed: k.Ended, Keep: time.Since(k.Created) + keptAfter, Poll: pollEvery,
	}
	switch k.State {
	case jobs.Done, jobs.Failed:
		t.Status = tool.TaskCompleted
	case jobs.Cancelled:
		t.Status = tool.TaskCancelled
	}
	return t
}

// Task returns a subagent of the caller, with its result when it has ended.
func (t follower) Task(ctx context.Context, id string) (tool.Task, error) {
	k, err := t.engine.get(ctx, tool.CallerFrom(ctx), id)
	if err != nil {
		return tool.Task{}, err
	}
	followed := k.followed()
	if followed.Status == tool.TaskCompleted {
		followed.Result, err = t.engine.awaited(ctx, tool.CallerFrom(ctx), id, []kept{k})
	}
	return followed, err
}

// CancelTask ends a subagent.
func (t follower) CancelTask(ctx context.Context, id string) error {
	_, err := t.engine.get(ctx, tool.CallerFrom(ctx), id) // an id, and no name such as all
	if err == nil {
		_, err = t.engine.cancel(ctx, tool.CallerFrom(ctx), id)
	}
	return err
}

// AnswerTask does nothing: subagents ask clients nothing.
func (t follower) AnswerTask(ctx context.Context, id string, _ map[string]json.RawMessage) error {
	_, err := t.engine.get(ctx, tool.CallerFrom(ctx), id)
	return err
}

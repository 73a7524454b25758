package exec

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// keptAfter is how long the output of an ended command is there at least.
	keptAfter = 30 * time.Minute
	pollEvery = time.Second
)

// following adds a running command to the result of a call, as a task for clients that follow
// tasks.
func following(ctx context.Context, res tool.Result, st sandbox.Status) tool.Result {
	if st.State != sandbox.Running || !tool.RunningFrom(ctx).Tasks {
		return res
	}
	t := taskOf(st)
	t.Message = "" // the text of the result says more
	return res.WithTask(t)
}

// taskOf returns a command as a task, without its result. The task of a command that was ended
// on request is cancelled; the task of a command that failed in any other way is completed.
func taskOf(st sandbox.Status) tool.Task {
	t := tool.Task{
		ID: st.ID, Status: tool.TaskCompleted, Message: state(st), Created: st.Started, Changed: st.ExitedAt,
		Keep: st.Took + keptAfter, Poll: pollEvery,
	}
	switch st.State {
	case sandbox.Running:
		t.Status = tool.TaskWorking
	case sandbox.Killed:
		t.Status = tool.TaskCancelled
	}
	return t
}

// Task returns a command of the caller in the background, with its whole output when it
// has ended.
func (t execTool) Task(ctx context.Context, id string) (tool.Task, error) {
	p, err := t.processNamed(ctx, id)
	if err != nil {
		return tool.Task{}, err
	}
	st := p.Status()
	followed := taskOf(st)
	if followed.Status != tool.TaskCompleted {
		return followed, nil
	}
	out, kept, err := t.output(ctx, p)
	if err != nil {
		return tool.Task{}, err
	}
	followed.Result = answer{status: st, printed: out, kept: kept, report: true}.result()
	return followed, nil
}

// CancelTask ends a command.
func (t execTool) CancelTask(ctx context.Context, id string) error {
	p, err := t.processNamed(ctx, id)
	if err != nil || p.Status().State != sandbox.Running {
		return err
	}
	return p.Kill(ctx)
}

// AnswerTask does nothing: commands ask clients nothing.
func (t execTool) AnswerTask(ctx context.Context, id string, _ map[string]json.RawMessage) error {
	_, err := t.processNamed(ctx, id)
	return err
}

func (t execTool) processNamed(ctx context.Context, id string) (sandbox.Process, error) {
	if t.Commands == nil {
		return nil, errNoCommands()
	}
	return t.Commands.Process(ctx, id)
}

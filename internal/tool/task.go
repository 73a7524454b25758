package tool

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// A Task is work of a tool that continues after the call that began it, such as a
// command in the background. A Result has one if its client follows tasks, as
// [Running] says: the client then asks for the state of the task instead of reading
// the text of the result.
type Task struct {
	ID      string // for the tool, of letters, digits and -_.:; other tools may use the same
	Status  TaskStatus
	Message string // how far it is, for people; may be empty
	Created time.Time
	Changed time.Time           // when the status changed; zero stands for Created
	Keep    time.Duration       // how long after Created it can be asked for at least; 0 for no end
	Poll    time.Duration       // how often it makes sense to ask for it; 0 leaves it to the client
	Result  Result              // of a completed task, also if the tool has failed
	Err     error               // why there is no result, of a failed task
	Needs   map[string]Question // the request that a task with the status TaskNeedsInput waits for
}

// A TaskStatus is the state of a task.
type TaskStatus string

// The states of a task. The last three are final.
const (
	TaskWorking    TaskStatus = "working"
	TaskNeedsInput TaskStatus = "input_required"
	TaskCompleted  TaskStatus = "completed"
	TaskFailed     TaskStatus = "failed"
	TaskCancelled  TaskStatus = "cancelled"
)

// A TaskKeeper is a Doer or a Preparer with tasks in its results. It chooses where it keeps
// them, and finds only the tasks of the caller in ctx: every other task is [NotFound].
type TaskKeeper interface {
	// Task returns the state of a task.
	Task(ctx context.Context, id string) (Task, error)
	// CancelTask asks a task to end. It does not wait for the end, and does nothing if the
	// task has ended.
	CancelTask(ctx context.Context, id string) error
	// AnswerTask passes on the answers to the requests of a task, as the client wrote them. It
	// ignores answers without a request.
	AnswerTask(ctx context.Context, id string, answers map[string]json.RawMessage) error
}

// ErrNeedsTasks is the error of a tool that a client without tasks cannot use.
var ErrNeedsTasks = errors.New("the tool needs a client that follows tasks")

// WithTask returns r with a task. The text of r is for clients that do not follow tasks.
func (r Result) WithTask(t Task) Result {
	r.Task = &t
	return r
}

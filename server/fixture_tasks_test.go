package server

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// jobs keeps the tasks of the fixture's tools in memory.
type jobs struct {
	mu  sync.Mutex
	all map[string]*job
}

type job struct {
	tool.Task
	owner    string
	cancel   context.CancelFunc
	answers  map[string]json.RawMessage
	answered func(*job) // called when all answers are there
}

// begin starts a task that ends with what do returns.
func (j *jobs) begin(ctx context.Context, do func(context.Context) (tool.Result, error)) tool.Result {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one, begun := j.add(ctx, tool.Task{Status: tool.TaskWorking}, cancel, nil)
	go func() {
		res, err := do(running)
		j.end(one, res, err)
	}()
	return tool.Text("it runs").WithTask(begun)
}

// ask adds a task that ends when it has all answers.
func (j *jobs) ask(ctx context.Context, needs map[string]tool.Question) tool.Result {
	_, begun := j.add(ctx, tool.Task{Status: tool.TaskNeedsInput, Needs: needs}, func() {},
		func(one *job) { go j.end(one, tool.Text("all is answered"), nil) })
	return tool.Text("it waits").WithTask(begun)
}

func (j *jobs) add(ctx context.Context, t tool.Task, cancel context.CancelFunc, answered func(*job)) (*job, tool.Task) {
	t.ID, t.Created, t.Keep, t.Poll = rand.Text(), time.Now(), time.Minute, 100*time.Millisecond
	one := &job{
		Task: t, owner: tool.CallerFrom(ctx).Principal(), cancel: cancel, answers: map[string]json.RawMessage{},
		answered: answered,
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.all == nil {
		j.all = map[string]*job{}
	}
	j.all[t.ID] = one
	t.Needs = maps.Clone(t.Needs)
	return one, t
}

func (j *jobs) end(one *job, res tool.Result, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if one.Status != tool.TaskWorking && one.Status != tool.TaskNeedsInput {
		return
	}
	one.Status, one.Result, one.Err, one.Changed = tool.TaskCompleted, res, err, time.Now()
	if err != nil {
		one.Status = tool.TaskFailed
	}
}

func (j *jobs) find(ctx context.Context, id string) (*job, error) {
	one := j.all[id]
	if one == nil || one.owner != tool.CallerFrom(ctx).Principal() {
		return nil, tool.Errorf(tool.NotFound, "no task").Try("start one")
	}
	return one, nil
}

func (j *jobs) Task(ctx context.Context, id string) (tool.Task, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	one, err := j.find(ctx, id)
	if err != nil {
		return tool.Task{}, err
	}
	t := one.Task
	t.Needs = maps.Clone(t.Needs)
	return t, nil
}

func (j *jobs) CancelTask(ctx context.Context, id string) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	one, err := j.find(ctx, id)
	if err == nil && (one.Status == tool.TaskWorking || one.Status == tool.TaskNeedsInput) {
		one.cancel()
		one.Status, one.Changed = tool.TaskCancelled, time.Now()
	}
	return err
}

func (j *jobs) AnswerTask(ctx context.Context, id string, answers map[string]json.RawMessage) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	one, err := j.find(ctx, id)
	if err != nil || one.Status != tool.TaskNeedsInput {
		return err
	}
	for name, answer := range answers {
		if _, needed := one.Needs[name]; needed {
			one.answers[name] = answer
			delete(one.Needs, name)
		}
	}
	if len(one.Needs) == 0 {
		one.Status = tool.TaskWorking
		one.answered(one)
	}
	return nil
}

// A jobTool is a tool of the fixture that has tasks.
type jobTool struct {
	*jobs
	name string
	do   func(ctx context.Context, a jobArgs) (tool.Result, error)
}

type jobArgs struct {
	Seconds  float64 `json:"seconds,omitempty" jsonschema:"how long it takes"`
	Label    string  `json:"label,omitempty" jsonschema:"a name for the work"`
	Filename string  `json:"filename,omitempty" jsonschema:"the file to delete"`
}

func (t jobTool) Spec() tool.Spec {
	return tool.Spec{Name: t.name, Group: "test", Title: t.name, Risk: tool.Reads, Doc: "Has tasks."}
}

func (t jobTool) Do(ctx context.Context, a jobArgs) (tool.Result, error) { return t.do(ctx, a) }

// taskTools are the tools that the scenarios about tasks ask for.
func taskTools() []tool.Tool {
	j := &jobs{}
	after := func(d time.Duration, res tool.Result, err error) func(context.Context) (tool.Result, error) {
		return func(ctx context.Context) (tool.Result, error) {
			select {
			case <-time.After(d):
			case <-ctx.Done():
			}
			return res, err
		}
	}
	failed := tool.Failure(tool.Errorf(tool.Invalid, "it failed, as always").Try("nothing"))
	confirm := form("Delete it?", `{"confirm":{"type":"boolean"}}`, "confirm")
	one := func(name string, do func(ctx context.Context, a jobArgs) (tool.Result, error)) tool.Tool {
		return tool.New(jobTool{j, name, do})
	}
	return []tool.Tool{
		newTool("greet", tool.Reads, func(_ context.Context, a struct {
			Name string `json:"name" jsonschema:"who is greeted"`
		}) (tool.Result, error) {
			return tool.Textf("Hello, %s!", a.Name), nil
		}),
		one("slow_compute", func(ctx context.Context, a jobArgs) (tool.Result, error) {
			work := after(time.Duration(a.Seconds*float64(time.Second)), tool.Text("computed "+a.Label), nil)
			if !tool.RunningFrom(ctx).Tasks {
				return work(ctx)
			}
			return j.begin(ctx, work), nil
		}),
		one("failing_job", func(ctx context.Context, _ jobArgs) (tool.Result, error) {
			if !tool.RunningFrom(ctx).Tasks {
				return tool.Result{}, tool.ErrNeedsTasks
			}
			return j.begin(ctx, after(time.Second, failed, nil)), nil
		}),
		one("protocol_error_job", func(ctx context.Context, _ jobArgs) (tool.Result, error) {
			return j.begin(ctx, after(0, tool.Result{}, fmt.Errorf("it broke"))), nil
		}),
		one("confirm_delete", func(ctx context.Context, _ jobArgs) (tool.Result, error) {
			return j.ask(ctx, map[string]tool.Question{"confirm": confirm}), nil
		}),
		one("multi_input", func(ctx context.Context, _ jobArgs) (tool.Result, error) {
			return j.ask(ctx, map[string]tool.Question{"first": confirm, "second": confirm}), nil
		}),
		one("test_tool_with_task", func(ctx context.Context, _ jobArgs) (tool.Result, error) {
			name, ok := understood(tool.Person, tool.AnswersFrom(ctx).ByName["user_name"])
			if !ok {
				return tool.Result{}, &tool.Asking{Questions: map[string]tool.Question{
					"user_name": form("What is your name?", `{"user_name":{"type":"string"}}`, "user_name"),
				}}
			}
			return j.begin(ctx, after(0, tool.Text("Hello, "+name), nil)), nil
		}),
	}
}

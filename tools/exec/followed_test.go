package exec

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A command in the background is a task for clients that follow tasks, and for no others.
func TestCommandsInTheBackgroundAreTasks(t *testing.T) {
	next := &actor{status: sandbox.Status{ID: "p_1", State: sandbox.Running}}
	world := &stage{site: isolated(), next: next}
	all := Tools(Options{Commands: world})
	call := bind(t, all, "exec", `{"command":"make","background":true}`)
	if res, err := call.Run(within(t, nil)); err != nil || res.Task != nil || !strings.Contains(res.Text(), "p_1 runs") {
		t.Fatalf("%+v, %v", res, err)
	}
	follower := tool.With(t.Context(), &tool.Running{
		Caller: tool.Caller{Agent: "a", User: "u", Session: "s"}, Tasks: true,
	})
	res, err := call.Run(follower)
	if err != nil || res.Task == nil || res.Task.ID != "p_1" || res.Task.Status != tool.TaskWorking ||
		res.Task.Keep <= 0 {
		t.Fatalf("%+v, %v", res.Task, err)
	}
	keeper := all[0].Tasks
	get := func() tool.Task {
		t.Helper()
		got, err := keeper.Task(follower, "p_1")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := get(); got.Status != tool.TaskWorking || len(got.Result.Parts) > 0 {
		t.Errorf("while it runs: %+v", got)
	}
	next.out.write("built\n")
	next.set(func(s *sandbox.Status) { s.State, s.Code = sandbox.Exited, 2 })
	for range 2 { // it is there as long as it was promised
		if got := get(); got.Status != tool.TaskCompleted || got.Result.Text() != "built\n[exit code 2]" {
			t.Errorf("at the end: %+v %q", got, got.Result.Text())
		}
	}
	next.set(func(s *sandbox.Status) { s.State = sandbox.Running })
	if err := keeper.CancelTask(follower, "p_1"); err != nil || get().Status != tool.TaskCancelled {
		t.Errorf("after the end: %+v, %v", get(), err)
	}
	if err := keeper.CancelTask(follower, "p_1"); err != nil {
		t.Errorf("to end it twice: %v", err)
	}
	for _, err := range []error{
		keeper.CancelTask(follower, "p_9"), keeper.AnswerTask(follower, "p_9", nil),
		func() error { _, err := keeper.Task(follower, "p_9"); return err }(),
	} {
		if tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("another task: %v", err)
		}
	}
}

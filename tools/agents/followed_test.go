package agents

import (
	"errors"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/llm/llmtest"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestSubagentsAreTasks checks that clients that follow tasks get a subagent as one, and its
// result once.
func TestSubagentsAreTasks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w, lead := newWorld(t, s), caller("lead", "s1")
		w.model.Next(llmtest.Say("it is done"))
		one := follower{w.engine}
		ctx := tool.With(t.Context(), &tool.Running{
			Caller: lead, Call: "call-1", Tasks: true, Grant: tool.RunningFrom(w.as(lead)).Grant,
		})
		call, err := tool.Prepared(spawn{one}).Bind([]byte(`{"task":"do it"}`), tool.DefaultLimits())
		if err != nil {
			t.Fatal(err)
		}
		res, err := call.Run(ctx)
		if err != nil || res.Task == nil {
			t.Fatalf("%+v, %v", res, err)
		}
		id := res.Task.ID
		w.end(lead, id)
		got, err := one.Task(ctx, id)
		if err != nil || got.Status != tool.TaskCompleted || !strings.Contains(got.Result.Text(), "it is done") {
			t.Errorf("the task is %+v, %v", got, err)
		}
		if again := w.told(lead); len(again) != 0 {
			t.Errorf("the inbox still has %q", again)
		}
		if err := one.CancelTask(ctx, id); err != nil {
			t.Errorf("cancelling an ended task: %v", err)
		}
		other := w.as(caller("other", "s2"))
		for _, err := range []error{
			second(one.Task(other, id)), one.CancelTask(other, id), one.CancelTask(ctx, "all"),
			one.AnswerTask(other, id, nil),
		} {
			if known := (*tool.Error)(nil); !errors.As(err, &known) || known.Kind != tool.NotFound {
				t.Errorf("the task of another caller: %v", err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

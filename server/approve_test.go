package server

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// moves is a tool that writes until the world changes, and then destroys. It
// wants to know something before it begins, and counts how often it did.
type moves struct {
	act[none]
	worse *atomic.Bool
	done  *atomic.Int64
}

func (m moves) Prepare(_ context.Context, a none) (tool.Plan, error) {
	plan := tool.Plan{Risk: tool.Writes, Run: func(ctx context.Context) (tool.Result, error) { return m.Do(ctx, a) }}
	if m.worse.Load() {
		plan.Risk, plan.Why = tool.Destroys, "it is there already"
	}
	return plan, nil
}

func (m moves) Do(ctx context.Context, _ none) (tool.Result, error) {
	if tool.AnswersFrom(ctx).ByName["where"] == nil {
		return tool.Result{}, &tool.Asking{Questions: map[string]tool.Question{"where": {To: tool.Person}}}
	}
	m.done.Add(1)
	return tool.Text("done"), nil
}

func newMoves(t *testing.T) (*testServer, moves) {
	t.Helper()
	m := moves{worse: new(atomic.Bool), done: new(atomic.Int64), act: act[none]{spec: tool.Spec{
		Name: "moves", Group: "test", Title: "moves", Doc: "It moves.", Risk: tool.Writes,
	}}}
	return newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(tool.Prepared(m))
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
	}), m
}

// answering makes a call that brings all answers along that anybody could want.
func answering(state string) func(*Request) {
	yes := json.RawMessage(`{"action":"accept","content":{"decision":"allow"}}`)
	return func(r *Request) {
		r.Can = func(tool.Medium) bool { return true }
		if state != "" {
			r.Input = &InputResponse{State: state, Answers: map[string]json.RawMessage{approvalKey: yes, "where": yes}}
		}
	}
}

// forApproval reports whether a person is asked to allow the call.
func forApproval(a *InputRequest) bool {
	_, ok := a.Questions[approvalKey]
	return ok
}

// TestUnaskedAnswersApproveNothing sends an answer to another question, or without a question.
func TestUnaskedAnswersApproveNothing(t *testing.T) {
	b, m := newMoves(t)
	where := callTool(t, b, "moves", `{}`, answering(""))
	m.worse.Store(true)
	approval := callTool(t, b, "moves", `{}`, answering(where.InputRequest.State))
	if approval.InputRequest == nil || !forApproval(approval.InputRequest) {
		t.Fatalf("an answer to another question approved it: %+v", approval)
	}
	again := callTool(t, b, "moves", `{}`, answering(approval.InputRequest.State))
	if again.InputRequest == nil || forApproval(again.InputRequest) || m.done.Load() != 0 {
		t.Fatalf("the tool heard an answer that it had not asked for: %+v", again)
	}
	if last := callTool(t, b, "moves", `{}`, answering(again.InputRequest.State)); last.Result.Text() != "done" {
		t.Errorf("approved and answered, and got %+v", last)
	}
}

// grows is a tool that destroys, and after a while runs things.
type grows struct{ moves }

func (g grows) Prepare(_ context.Context, a none) (tool.Plan, error) {
	plan := tool.Plan{Risk: tool.Destroys, Run: func(ctx context.Context) (tool.Result, error) { return g.Do(ctx, a) }}
	if g.worse.Load() {
		plan.Risk, plan.Why = tool.Runs, "it grew"
	}
	return plan, nil
}

// TestApprovalIsVoidWhenTheRiskRises raises the risk before the answer comes, and
// between the answer and another question that the tool itself puts.
func TestApprovalIsVoidWhenTheRiskRises(t *testing.T) {
	for _, answered := range []bool{false, true} {
		for _, worse := range []bool{false, true} {
			g := grows{moves{worse: new(atomic.Bool), done: new(atomic.Int64), act: act[none]{spec: tool.Spec{
				Name: "grows", Group: "test", Title: "grows", Doc: "It grows.", Risk: tool.Destroys,
			}}}}
			b := newTestServer(t, withTool(t, tool.Prepared(g)))
			ask := callTool(t, b, "grows", `{}`, answering("")).InputRequest
			if answered {
				ask = callTool(t, b, "grows", `{}`, answering(ask.State)).InputRequest
			}
			g.worse.Store(worse)
			last := callTool(t, b, "grows", `{}`, answering(ask.State))
			if changed := last.Result.Kind == tool.Conflict; changed != worse {
				t.Errorf("answered %t, worse %t: %+v", answered, worse, last)
			}
		}
	}
}

func TestTwoUsesOfOneApprovalAtOnce(t *testing.T) {
	for range 50 {
		b := newTestServer(t)
		state := callTool(t, b, "launch", `{}`, answering("")).InputRequest.State
		var ran atomic.Int64
		var all sync.WaitGroup
		for range 4 { // more refusals than that count as a loop
			all.Go(func() {
				if a := callTool(t, b, "launch", `{}`, answering(state)); !a.Result.Failed && a.InputRequest == nil {
					ran.Add(1)
				}
			})
		}
		all.Wait()
		if ran.Load() != 1 {
			t.Fatalf("it ran %d times", ran.Load())
		}
	}
}

// leaves is a tool with calls that a person must approve at every autonomy.
type leaves struct{ act[none] }

func (leaves) Prepare(context.Context, none) (tool.Plan, error) {
	run := func(context.Context) (tool.Result, error) { return tool.Text("done"), nil }
	return tool.Plan{Risk: tool.Reads, Ask: "elevated", Once: true, Run: run}, nil
}

func TestApprovalAtEveryAutonomy(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(tool.Prepared(leaves{act[none]{spec: tool.Spec{
			Name: "leaves", Group: "test", Title: "leaves", Doc: "It leaves.", Risk: tool.Runs,
		}}}))
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{Autonomy: policy.Full})
	})
	if a := callTool(t, b, "leaves", `{}`); a.Result.Kind != tool.Refused {
		t.Errorf("nobody can be asked, and got %+v", a)
	}
	asked := callTool(t, b, "leaves", `{}`, answering(""))
	if asked.InputRequest == nil || !forApproval(asked.InputRequest) {
		t.Fatalf("no question was asked: %+v", asked)
	}
	if a := callTool(t, b, "leaves", `{}`, answering(asked.InputRequest.State)); a.Result.Text() != "done" {
		t.Errorf("approved, and got %+v", a)
	}
	all := b.audit.all()
	if last := all[len(all)-1]; !strings.HasPrefix(last.Approval, "elevated, ") {
		t.Errorf("the record is %+v", last)
	}
}

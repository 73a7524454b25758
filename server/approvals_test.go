package server

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// memoryApprovals are Approvals for the tests of the server. What the real ones
// do with processes and files, their own tests check.
type memoryApprovals struct {
	mu        sync.Mutex
	attended  bool
	rule      string // allows everything
	questions map[string]*question
	asked     chan string // ids of questions
}

type question struct {
	call     approvals.Call
	edited   *approvals.Edit
	decision *approvals.Decision
	closed   bool
	decided  chan struct{} // closed with the first decision
}

func newMemoryApprovals() *memoryApprovals {
	return &memoryApprovals{attended: true, questions: map[string]*question{}, asked: make(chan string, 1000)}
}

func (d *memoryApprovals) Allowed(context.Context, approvals.Call) (approvals.Rule, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return approvals.Rule{ID: d.rule}, d.rule != "", nil
}

func (d *memoryApprovals) Attended(context.Context) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attended, nil
}

func (d *memoryApprovals) Ask(_ context.Context, c approvals.Call, _ time.Time) (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	id := fmt.Sprintf("q%d", len(d.questions)+1)
	d.questions[id] = &question{call: c, decided: make(chan struct{})}
	d.asked <- id
	return id, nil
}

func (d *memoryApprovals) get(id string) *question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.questions[id]
}

func (d *memoryApprovals) Get(_ context.Context, id string, _ approvals.Approver) (q approvals.Question, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	one := d.questions[id]
	if one == nil {
		return q, approvals.ErrUnknown
	}
	q = approvals.Question{ID: id, State: approvals.Open, Call: one.call, Edited: one.edited, Decision: one.decision}
	switch {
	case one.decision != nil && one.closed:
		q.State = approvals.Used
	case one.decision != nil && one.decision.Allow:
		q.State = approvals.Allowed
	case one.decision != nil:
		q.State = approvals.Denied
	case one.closed:
		return q, approvals.ErrUnknown
	}
	return q, nil
}

func (d *memoryApprovals) Await(ctx context.Context, id string) error {
	select {
	case <-d.get(id).decided:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *memoryApprovals) Answer(
	_ context.Context, id string, a approvals.Answer, by approvals.Approver,
) (approvals.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.questions[id]
	switch {
	case q.closed || q.decision != nil && (a.Allow || !q.decision.Allow):
		return approvals.Decision{}, approvals.ErrAnswered
	case a.Allow && a.Seen != "" && a.Seen != q.call.Digest:
		return approvals.Decision{}, approvals.ErrEdited
	case q.decision == nil:
		close(q.decided)
	}
	q.decision = &approvals.Decision{Allow: a.Allow, Scope: a.Scope, Reason: a.Reason, By: by.Name, Channel: by.Channel}
	return *q.decision, nil
}

// edit changes the arguments of a call as a person elsewhere.
func (d *memoryApprovals) edit(ctx context.Context, id, change string) error {
	q := d.get(id)
	check := q.call.Check
	call, err := check(ctx, q.call.Digest, json.RawMessage(change))
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	call.Check = check
	q.call, q.edited = call, &approvals.Edit{By: "ann"}
	return nil
}

// decide answers a question as a person elsewhere than at the client.
func (d *memoryApprovals) decide(ctx context.Context, id string, as approvals.Decision) error {
	answer := approvals.Answer{Allow: as.Allow, Scope: as.Scope, Reason: as.Reason}
	_, err := d.Answer(ctx, id, answer, approvals.Approver{Name: as.By, Channel: as.Channel})
	return err
}

func (d *memoryApprovals) Take(_ context.Context, id string, c approvals.Call) (approvals.Decision, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	q := d.questions[id]
	if q.closed || q.decision == nil || q.call.Digest != c.Digest || q.call.Basis != c.Basis {
		q.closed = true
		return approvals.Decision{}, approvals.ErrExpired
	}
	q.closed = true
	return *q.decision, nil
}

func (d *memoryApprovals) Withdraw(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.questions[id].closed = true
	return nil
}

// next returns the id of the next question.
func (d *memoryApprovals) next(t *testing.T) string {
	t.Helper()
	select {
	case id := <-d.asked:
		return id
	case <-time.After(hang):
		t.Fatal("nothing was asked")
		return ""
	}
}

func withApprovals(d *memoryApprovals) func(*Config) {
	return func(c *Config) {
		c.Approvals = d
		c.Settings.ApprovalWait = WaitAttended
	}
}

func cli(allow bool, reason string) approvals.Decision {
	return approvals.Decision{Allow: allow, Scope: approvals.Once, Reason: reason, Channel: "cli", By: "ann"}
}

// settles is a tool with calls that rest on a fact that may change.
type settles struct {
	act[none]
	mu   *sync.Mutex
	fact *string
	once bool
	runs *int
	// prepared counts how often a call was prepared.
	prepared *int
}

func newSettles(once bool) settles {
	fact, runs, prepared := "/bin/one", 0, 0
	return settles{
		act: act[none]{spec: tool.Spec{Name: "settles", Group: "test", Title: "settles", Doc: "It settles.",
			Risk: tool.Runs}},
		mu: new(sync.Mutex), fact: &fact, once: once, runs: &runs, prepared: &prepared,
	}
}

func (s settles) Prepare(context.Context, none) (tool.Plan, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.prepared++
	return tool.Plan{Once: s.once, Facts: s.facts, Run: s.run}, nil
}

func (s settles) facts(context.Context) (tool.Facts, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return tool.Facts{"Binary": *s.fact}, nil
}

func (s settles) run(context.Context) (tool.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.runs++
	return tool.Text("settled"), nil
}

func (s settles) change(fact string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*s.fact = fact
}

func withTool(t *testing.T, one tool.Tool) func(*Config) {
	return func(c *Config) {
		set, err := tool.NewSet(one)
		if err != nil {
			t.Fatal(err)
		}
		wait := c.Settings.ApprovalWait
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
		c.Settings.ApprovalWait = wait
	}
}

// enumOf is what a person can choose from.
func enumOf(t *testing.T, ask *InputRequest) []string {
	t.Helper()
	raw, err := json.Marshal(ask.Questions[approvalKey].Params)
	if err != nil {
		t.Fatal(err)
	}
	var form struct {
		RequestedSchema struct {
			Properties struct {
				Decision struct{ Enum []string }
			}
		}
	}
	if err := json.Unmarshal(raw, &form); err != nil {
		t.Fatal(err)
	}
	return form.RequestedSchema.Properties.Decision.Enum
}

package server

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const changedNote = "A person changed the arguments of this call before they allowed it. It ran with: "

// TestPersonChangesTheArguments changes the arguments of calls that wait, twice or in a wrong way first.
func TestPersonChangesTheArguments(t *testing.T) {
	for name, test := range map[string]struct {
		changes []string
		wrong   string // the error of the last change
		allow   bool
		want    string
		record  string
	}{
		"once": {
			[]string{`{"text":"y"}`}, "", true, "launched y\n" + changedNote + `{"text":"y","n":3}`,
			"cli:ann, arguments changed by a person",
		},
		"twice": {
			[]string{`{"text":"y"}`, `{"n":null}`}, "", true, "launched y\n" + changedNote + `{"text":"y"}`,
			"cli:ann, arguments changed by a person",
		},
		"and denied": {
			[]string{`{"text":"y"}`}, "", false, "refused: a person denied this call of launch: \"no\"",
			"denied cli:ann, arguments changed by a person",
		},
		"not by the schema": {[]string{`{"n":"many"}`}, "n", true, "launched x", "cli:ann"},
		"no such argument":  {[]string{`{"size":1}`}, "size", true, "launched x", "cli:ann"},
	} {
		d := newMemoryApprovals()
		b := newTestServer(t, withApprovals(d))
		asked := callTool(t, b, "launch", `{"text":"x","n":3}`).InputRequest
		id := d.next(t)
		var err error
		for _, change := range test.changes {
			err = d.edit(t.Context(), id, change)
		}
		if test.wrong == "" && err != nil || test.wrong != "" && (err == nil || !strings.Contains(err.Error(), test.wrong)) {
			t.Errorf("%s: the change got %v", name, err)
		}
		if err := d.decide(t.Context(), id, cli(test.allow, map[bool]string{false: "no"}[test.allow])); err != nil {
			t.Fatal(err)
		}
		got := callTool(t, b, "launch", `{"text":"x","n":3}`, func(r *Request) { r.Input = &InputResponse{State: asked.State} })
		var lines []string
		for _, part := range got.Result.Parts {
			lines = append(lines, part.Text)
		}
		if text := strings.Join(lines, "\n"); !strings.HasPrefix(text, test.want) {
			t.Errorf("%s: the call got %s", name, text)
		}
		entries := b.audit.all()
		if last := entries[len(entries)-1]; last.Approval != test.record {
			t.Errorf("%s: the record says %q", name, last.Approval)
		}
	}
}

// TestChangedCallOfARefusedCall changes the call of a question that a refused call has left.
func TestChangedCallOfARefusedCall(t *testing.T) {
	d := newMemoryApprovals()
	d.attended = false
	b := newTestServer(t, withApprovals(d))
	call := func() string { return callTool(t, b, "launch", `{"text":"x"}`).Result.Text() }
	refused, id := call(), d.next(t)
	if err := d.edit(t.Context(), id, `{"text":"y"}`); err != nil {
		t.Fatal(err)
	}
	if again := call(); again != refused {
		t.Errorf("before the answer an equal call got %s", again)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	if got := call(); !strings.HasPrefix(got, "launched y") || !strings.Contains(got, changedNote) {
		t.Errorf("after the answer an equal call got %s", got)
	}
	if got := call(); got == "" || strings.HasPrefix(got, "launched") {
		t.Errorf("a second equal call got %s", got)
	}
}

// TestClientAllowsWhatWasChangedSince has a person at the client who allows the call as it was, while another one
// has changed it: the second person decides.
func TestClientAllowsWhatWasChangedSince(t *testing.T) {
	d := newMemoryApprovals()
	b := newTestServer(t, withApprovals(d))
	asks := func(r *Request) { r.Can = func(tool.Medium) bool { return true } }
	asked := callTool(t, b, "launch", `{"text":"x"}`, asks).InputRequest
	id := d.next(t)
	if err := d.edit(t.Context(), id, `{"text":"y"}`); err != nil {
		t.Fatal(err)
	}
	waits := callTool(t, b, "launch", `{"text":"x"}`, asks, func(r *Request) {
		r.Input = &InputResponse{State: asked.State, Answers: map[string]json.RawMessage{
			approvalKey: json.RawMessage(`{"action":"accept","content":{"decision":"allow"}}`),
		}}
	})
	if waits.InputRequest == nil || waits.InputRequest.Waiting != id || waits.InputRequest.forClient() {
		t.Fatalf("the client's answer got %+v", waits)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	got := callTool(t, b, "launch", `{"text":"x"}`, asks, func(r *Request) {
		r.Input = &InputResponse{State: waits.InputRequest.State}
	}).Result.Text()
	if !strings.HasPrefix(got, "launched y") {
		t.Errorf("it got %s", got)
	}
}

// risky is a tool whose risk depends on its arguments, and that asks a question of its own.
type risky struct{ act[textArgs] }

func (r risky) Prepare(_ context.Context, a textArgs) (tool.Plan, error) {
	risk := map[string]tool.Risk{"": tool.Reads, "change": tool.Writes, "run": tool.Runs}[a.Text]
	return tool.Plan{Risk: risk, Run: func(ctx context.Context) (tool.Result, error) {
		if tool.AnswersFrom(ctx).ByName["where"] == nil {
			return tool.Result{}, &tool.Asking{Questions: map[string]tool.Question{"where": {To: tool.Person}}}
		}
		return tool.Text("did " + a.Text), nil
	}}, nil
}

// TestChangedCallIsJudgedAgain makes a call worse than the policy allows, and another one harmless: it runs with the
// answer only, also after a question of the tool.
func TestChangedCallIsJudgedAgain(t *testing.T) {
	d := newMemoryApprovals()
	one := tool.Prepared(risky{act[textArgs]{spec: tool.Spec{
		Name: "risky", Group: "test", Title: "risky", Doc: "It is risky.", Risk: tool.Runs,
	}}})
	b := newTestServer(t, withTool(t, one), withApprovals(d))
	asks := func(r *Request) { r.Can = func(tool.Medium) bool { return true } }
	first := callTool(t, b, "risky", `{"text":"run"}`, asks).InputRequest
	id := d.next(t)
	if err := d.edit(t.Context(), id, `{"text":""}`); err != nil {
		t.Fatal(err)
	}
	if q := d.get(id).call; q.Risk != "reads" || q.Shown != `{}` {
		t.Errorf("the question is %+v", q)
	}
	with := func(state string) func(*Request) {
		return func(r *Request) {
			asks(r)
			r.Input = &InputResponse{State: state, Answers: map[string]json.RawMessage{"where": json.RawMessage(`{}`)}}
		}
	}
	if err := d.decide(t.Context(), id, cli(false, "")); err != nil {
		t.Fatal(err)
	}
	if got := callTool(t, b, "risky", `{"text":"run"}`, with(first.State)).Result.Text(); !strings.HasPrefix(got, "refused: a person denied") {
		t.Errorf("denied, it got %s", got)
	}
	first = callTool(t, b, "risky", `{"text":"run"}`, asks).InputRequest
	id = d.next(t)
	if err := d.edit(t.Context(), id, `{"text":"change"}`); err != nil {
		t.Fatal(err)
	}
	if err := d.decide(t.Context(), id, cli(true, "")); err != nil {
		t.Fatal(err)
	}
	second := callTool(t, b, "risky", `{"text":"run"}`, with(first.State))
	if second.InputRequest == nil {
		t.Fatalf("the tool asks nothing: %+v", second)
	}
	if got := callTool(t, b, "risky", `{"text":"run"}`, with(second.InputRequest.State)).Result.Text(); !strings.HasPrefix(got, "did change") {
		t.Errorf("after the question of the tool it got %s", got)
	}
}

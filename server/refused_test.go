package server

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// fussy is a tool that knows of some calls beforehand that it will not make.
type fussy struct {
	act[textArgs]
	never *atomic.Bool // it no longer makes any
	asked *atomic.Int64
	ran   *atomic.Int64
}

func newFussy() fussy {
	return fussy{never: new(atomic.Bool), asked: new(atomic.Int64), ran: new(atomic.Int64),
		act: act[textArgs]{spec: tool.Spec{
			Name: "fussy", Group: "test", Title: "fussy", Doc: "It is fussy.", Risk: tool.Runs,
		}}}
}

func (f fussy) Prepare(_ context.Context, a textArgs) (tool.Plan, error) {
	facts := func(context.Context) (tool.Facts, error) {
		f.asked.Add(1)
		if f.never.Load() || a.Text == "never" {
			return nil, tool.Errorf(tool.Refused, "no call of that %s", plantedKey()).Try("make another")
		}
		return nil, nil
	}
	run := func(context.Context) (tool.Result, error) {
		f.ran.Add(1)
		return tool.Text("done"), nil
	}
	return tool.Plan{Facts: facts, Run: run}, nil
}

// mustBeRefused checks the error that the caller gets, and the audit record.
func (f fussy) mustBeRefused(t *testing.T, b *testServer, a Response) {
	t.Helper()
	if text := a.Result.Text(); a.InputRequest != nil || a.Result.Kind != tool.Refused ||
		!strings.HasSuffix(text, "; make another") || strings.Contains(text, plantedKey()) {
		t.Errorf("got %+v", a)
	}
	entries := b.audit.all()
	last := entries[len(entries)-1]
	if last.Verdict != "ask" || last.Outcome != "refused" || last.Risk != "runs" || last.ArgsDigest == "" ||
		last.Approval != "" ||
		!strings.HasPrefix(last.Error, "refused: no call of that [REDACTED]") {
		t.Errorf("the record says %+v", last)
	}
	for _, e := range entries {
		if e.Phase == audit.Intent || e.Outcome == "ok" {
			t.Errorf("it ran: %+v", e)
		}
	}
	if f.ran.Load() != 0 {
		t.Error("it ran")
	}
}

func TestRefusedCallsAreNotAskedAbout(t *testing.T) {
	for name, rule := range map[string]string{"without a rule": "", "with a rule that allows it": "r1"} {
		t.Run(name, func(t *testing.T) {
			f, d := newFussy(), newMemoryApprovals()
			d.rule = rule
			b := newTestServer(t, withApprovals(d), withTool(t, tool.Prepared(f)))
			f.mustBeRefused(t, b, callTool(t, b, "fussy", `{"text":"never"}`, answering("")))
			if len(d.questions) != 0 {
				t.Error("somebody was asked")
			}
		})
	}
}

// TestAcceptedCallsAreStillAskedAbout has a tool find nothing wrong with a call.
func TestAcceptedCallsAreStillAskedAbout(t *testing.T) {
	f := newFussy()
	b := newTestServer(t, withTool(t, tool.Prepared(f)))
	if a := callTool(t, b, "fussy", `{"text":"x"}`, answering("")); a.InputRequest == nil ||
		!forApproval(a.InputRequest) || f.ran.Load() != 0 {
		t.Errorf("got %+v", a)
	}
}

// TestCallRefusedAfterItsApproval changes the facts between the
// question and the answer, which is a yes.
func TestCallRefusedAfterItsApproval(t *testing.T) {
	f, d := newFussy(), newMemoryApprovals()
	b := newTestServer(t, withApprovals(d), withTool(t, tool.Prepared(f)))
	ask := callTool(t, b, "fussy", `{"text":"x"}`, answering("")).InputRequest
	f.never.Store(true)
	f.mustBeRefused(t, b, callTool(t, b, "fussy", `{"text":"x"}`, answering(ask.State)))
	if q := d.get(ask.Waiting); !q.closed {
		t.Error("the question is still open")
	}
}

// TestDeniedCallersLearnNothing counts how often a tool is asked about calls of
// those that the policy does not ask about.
func TestDeniedCallersLearnNothing(t *testing.T) {
	for name, test := range map[string]struct {
		rules  policy.Rules
		change func(*Request)
		want   tool.Kind
	}{
		"another profile": {policy.Rules{}, func(r *Request) { r.Caller.Profile = "minimal" }, tool.NotFound},
		"a narrow call":   {policy.Rules{}, func(r *Request) { r.Narrow.Exclude = []string{"fussy"} }, tool.NotFound},
		"readonly":        {policy.Rules{Autonomy: policy.ReadOnly}, func(*Request) {}, tool.NotFound},
		"full autonomy":   {policy.Rules{Autonomy: policy.Full}, func(*Request) {}, ""},
	} {
		f := newFussy()
		b := newTestServer(t, withTool(t, tool.Prepared(f)),
			func(c *Config) { c.Settings = testSettings(t, c.Tools, test.rules) })
		if a := callTool(t, b, "fussy", `{"text":"never"}`, answering(""), test.change); a.Result.Kind != test.want ||
			f.asked.Load() != 0 {
			t.Errorf("%s: %+v, and the tool was asked %d times", name, a, f.asked.Load())
		}
	}
}

// TestRefusalsNameTheNextStep goes through the ways in which no approval comes.
func TestRefusalsNameTheNextStep(t *testing.T) {
	replied := func(answer string) func(*testing.T, *testServer) Response {
		return func(t *testing.T, b *testServer) Response {
			ask := callTool(t, b, "launch", `{}`, answering("")).InputRequest
			return callTool(t, b, "launch", `{}`, answering(ask.State), func(r *Request) {
				r.Input.Answers = nil
				if answer != "" {
					r.Input.Answers = map[string]json.RawMessage{approvalKey: json.RawMessage(answer)}
				}
			})
		}
	}
	alone := func(t *testing.T, b *testServer) Response { return callTool(t, b, "launch", `{}`) }
	empty := newMemoryApprovals()
	empty.attended = false
	for name, test := range map[string]struct {
		desk       *memoryApprovals
		call       func(*testing.T, *testServer) Response
		what, next string
	}{
		"said no": {nil, replied(`{"action":"decline"}`), "a person denied this call of launch",
			"ask the user how to continue"},
		"said no, with words": {nil, replied(`{"action":"accept","content":{"decision":"deny","reason":"x"}}`),
			`launch: "x"`, "ask the user how to continue"},
		"closed": {nil, replied(`{"action":"cancel"}`), "was closed without an answer",
			"ask the user how to continue before you call it again"},
		"no answer": {nil, replied(""), "no person approved this call of launch in time",
			"ask the user to be there for the question"},
		"no answer, desk": {newMemoryApprovals(), replied(""), "no person approved this call of launch in time",
			"mcp-tools approvals watch"},
		"nobody to ask": {nil, alone, "launch (runs) needs a person's approval", "do it another way"},
		"an empty desk": {empty, alone, "launch (runs) needs a person's approval", "mcp-tools approvals allow"},
	} {
		change := []func(*Config){}
		if test.desk != nil {
			change = append(change, withApprovals(test.desk))
		}
		a := test.call(t, newTestServer(t, change...))
		what, next, both := strings.Cut(a.Result.Text(), "; ")
		if a.Result.Kind != tool.Refused || !both || !strings.Contains(what, test.what) ||
			!strings.Contains(next, test.next) {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// TestACallIsPreparedOnceForEachAttempt counts how often a call is prepared: once,
// and once more only if a person was asked in between.
func TestACallIsPreparedOnceForEachAttempt(t *testing.T) {
	s := newSettles(false)
	b := newTestServer(t, withTool(t, tool.Prepared(s)))
	ask := callTool(t, b, "settles", `{}`, answering("")).InputRequest
	if got := callTool(t, b, "settles", `{}`, answering(ask.State)).Result.Text(); got != "settled" ||
		*s.prepared != 2 {
		t.Errorf("approved, it was prepared %d times: %q", *s.prepared, got)
	}
	s = newSettles(false)
	full := func(c *Config) { c.Settings = testSettings(t, c.Tools, policy.Rules{Autonomy: policy.Full}) }
	b = newTestServer(t, withTool(t, tool.Prepared(s)), full)
	if got := callTool(t, b, "settles", `{}`).Result.Text(); got != "settled" || *s.prepared != 1 {
		t.Errorf("without a question, it was prepared %d times: %q", *s.prepared, got)
	}
}

// broken is a tool that cannot prepare its calls, and says how risky they are.
type broken struct {
	act[none]
	risk tool.Risk
}

func (b broken) Prepare(context.Context, none) (tool.Plan, error) {
	return tool.Plan{Risk: b.risk}, tool.Errorf(tool.Conflict, "the door is locked")
}

// TestWhyACallCannotBePreparedIsForThoseWhoMayMakeIt has the policy decide
// before the error of Prepare is shown.
func TestWhyACallCannotBePreparedIsForThoseWhoMayMakeIt(t *testing.T) {
	for _, test := range []struct {
		autonomy policy.Autonomy
		risk     tool.Risk
		want     tool.Kind
	}{
		{policy.ReadOnly, tool.Reads, tool.Conflict},
		{policy.ReadOnly, tool.Runs, tool.Refused},
		{policy.Supervised, tool.Runs, tool.Conflict},
		{policy.Full, tool.Runs, tool.Conflict},
	} {
		one := broken{act[none]{spec: tool.Spec{Name: "broken", Group: "test", Title: "broken", Doc: "It is broken.",
			Risk: tool.Reads}}, test.risk}
		b := newTestServer(t, withTool(t, tool.Prepared(one)),
			func(c *Config) { c.Settings = testSettings(t, c.Tools, policy.Rules{Autonomy: test.autonomy}) })
		a := callTool(t, b, "broken", `{}`, answering(""))
		if a.InputRequest != nil || a.Result.Kind != test.want {
			t.Errorf("%s, %s: %+v", test.autonomy, test.risk, a)
		}
	}
}

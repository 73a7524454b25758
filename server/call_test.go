package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

func callTool(tb testing.TB, b *testServer, name, args string, change ...func(*Request)) Response {
	tb.Helper()
	r := Request{Access: testAccess(), Tool: name, Args: []byte(args)}
	for _, f := range change {
		f(&r)
	}
	return b.Call(tb.Context(), r)
}

func TestEveryOutcomeIsScrubbedAndRecorded(t *testing.T) {
	for name, test := range map[string]struct {
		tool, args string
		kind       tool.Kind
		want       string
		verdict    string
	}{
		"success":                    {"echo", `{"text":"hi"}`, "", "hi0", "allow"},
		"a wrong argument":           {"echo", `{"txt":"hi"}`, tool.Invalid, `did you mean "text"?`, "allow"},
		"an unknown tool":            {"ehco", `{}`, tool.NotFound, `did you mean "echo"?`, "deny"},
		"a failure of ours":          {"broken", `{}`, tool.Internal, "the tool failed", "allow"},
		"a panic":                    {"panics", `{}`, tool.Internal, "panics failed unexpectedly", "allow"},
		"a call without an approver": {"launch", `{}`, tool.Refused, "needs a person's approval", "ask"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTestServer(t)
			a := callTool(t, b, test.tool, test.args)
			if a.Result.Kind != test.kind || !strings.Contains(a.Result.Text(), test.want) {
				t.Errorf("got %s %q, want %s %q", a.Result.Kind, a.Result.Text(), test.kind, test.want)
			}
			for _, private := range []string{"/srv", "oh no", "goroutine"} {
				if strings.Contains(a.Result.Text(), private) {
					t.Errorf("the model reads %q", a.Result.Text())
				}
			}
			entries := b.audit.all()
			if len(entries) != 1 {
				t.Fatalf("the journal has %d entries", len(entries))
			}
			if got := entries[0]; got.Verdict != test.verdict || got.Outcome != outcomeOf(test.kind) || got.Call == "" {
				t.Errorf("the journal says %+v", got)
			}
		})
	}
}

func outcomeOf(k tool.Kind) string {
	if k == "" {
		return "ok"
	}
	return string(k)
}

func TestResultsAreScrubbedBeforeTheyAreCut(t *testing.T) {
	b := newTestServer(t)
	a := callTool(t, b, "leaks", `{}`)
	whole, err := json.Marshal(a.Result)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(whole), plantedKey()) || !strings.Contains(a.Result.Text(), "[REDACTED]") {
		t.Errorf("the result is %s", whole)
	}
	if got := b.audit.all()[0].Redactions; got == 0 {
		t.Error("the journal knows of no redaction")
	}
}

func TestErrorsAndNamesAreScrubbedToo(t *testing.T) {
	b := newTestServer(t)
	a := callTool(t, b, plantedKey(), `{"text":"`+plantedKey()+`"}`)
	if strings.Contains(a.Result.Text(), plantedKey()) {
		t.Errorf("the answer repeats the secret: %q", a.Result.Text())
	}
	if e := b.audit.all()[0]; strings.Contains(e.Tool+e.ArgsShape+e.Error, plantedKey()) {
		t.Errorf("the journal has the secret: %+v", e)
	}
}

// TestSecretsAreScrubbedBeforeTheCut cuts results in the middle of a credential: half of one matches no
// pattern.
func TestSecretsAreScrubbedBeforeTheCut(t *testing.T) {
	half := plantedKey()[:12]
	for at := 30; at < 90; at += 7 {
		before := strings.Repeat("x", at) + " "
		b := newTestServer(t)
		for _, a := range []Response{
			callTool(t, b, before+plantedKey(), `{}`),
			callTool(t, b, "echo", `{"n":"`+before+plantedKey()+`"}`),
			callTool(t, b, "echo", `{"`+before+plantedKey()+`":1}`),
			callTool(t, b, "echo", `{}`, func(r *Request) {
				r.Trace = map[string]string{"traceparent": before +
					plantedKey()}
			}),
		} {
			if strings.Contains(a.Result.Text(), half) {
				t.Errorf("the answer has half of it: %q", a.Result.Text())
			}
		}
		for _, e := range b.audit.all() {
			if strings.Contains(e.Tool+e.Error+e.Trace, half) {
				t.Errorf("the journal has half of it: %+v", e)
			}
		}
	}
}

// moody is a tool that fails before it begins.
type moody struct{ act[none] }

func (moody) Prepare(context.Context, none) (tool.Plan, error) { panic("oh no") }

func TestAPanicInPrepareIsAnError(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		set, err := tool.NewSet(tool.Prepared(moody{act[none]{spec: tool.Spec{
			Name: "moody", Group: "test", Title: "moody", Doc: "It is moody.", Risk: tool.Reads,
		}}}))
		if err != nil {
			t.Fatal(err)
		}
		c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
	})
	for range 2 { // the second finds the slot of the first free
		if a := callTool(t, b, "moody", `{}`); a.Result.Kind != tool.Internal ||
			strings.Contains(a.Result.Text(), "oh no") {
			t.Errorf("got %s %q", a.Result.Kind, a.Result.Text())
		}
	}
}

func TestLongResultsAreCutAndKept(t *testing.T) {
	b := newTestServer(t)
	a := callTool(t, b, "long", `{"n":500}`)
	text := a.Result.Text()
	if len(text) > 1400 || !strings.HasPrefix(text, "0123456789\n") || !strings.HasSuffix(text, "0123456789\n") {
		t.Errorf("cut to %d bytes: %q", len(text), text)
	}
	if !strings.Contains(text, `call read_result with {"id":"r_handle","offset":`) {
		t.Errorf("no way to go on: %q", text)
	}
	if len(b.results.text) != 5500 || b.results.owner != "a/u" {
		t.Errorf("kept %d bytes for %q", len(b.results.text), b.results.owner)
	}
	a = callTool(t, b, "long", `{"n":5000}`)
	if len(b.results.text) > 10_000 || !strings.Contains(a.Result.Text(), "are stored") {
		t.Errorf("kept %d bytes, said %q", len(b.results.text), a.Result.Text())
	}
	a = callTool(t, b, "long", `{"n":500}`, func(r *Request) { r.Narrow.Exclude = []string{ReadResult} })
	if strings.Contains(a.Result.Text(), "r_handle") {
		t.Error("a caller without read_result got a handle")
	}
}

func TestAToolCanShowLess(t *testing.T) {
	for most, want := range map[int]int{400: 800, 5000: 1400} { // with the words on how to go on
		b := newTestServer(t, func(c *Config) {
			long, _ := c.Tools.Lookup("long")
			reader, _ := c.Tools.Lookup(ReadResult)
			long.Spec.MaxShown = most
			set, err := tool.NewSet(long, reader)
			if err != nil {
				t.Fatal(err)
			}
			c.Tools, c.Settings = set, testSettings(t, set, policy.Rules{})
		})
		a := callTool(t, b, "long", `{"n":500}`)
		if text := a.Result.Text(); len(text) > want || len(text) < want/2 ||
			!strings.Contains(text, `call read_result with {"id":"r_handle","offset":`) || len(b.results.text) != 5500 {
			t.Errorf("with at most %d: %d bytes are shown, %d kept: %q", most, len(text), len(b.results.text), text)
		}
	}
}

func TestChangesAreRecordedBeforeTheyRun(t *testing.T) {
	b := newTestServer(t)
	callTool(t, b, "change", `{"text":"x"}`)
	entries := b.audit.all()
	if len(entries) != 2 || entries[0].Phase != audit.Intent || entries[1].Phase == audit.Intent ||
		entries[0].Call != entries[1].Call {
		t.Fatalf("the journal says %+v", entries)
	}
}

func TestWithoutAJournalNothingHappens(t *testing.T) {
	b := newTestServer(t)
	b.audit.breakWith(errors.New("no space left"))
	for name, told := range map[string]string{"echo": "the result is withheld", "change": "so nothing was done"} {
		a := callTool(t, b, name, `{"text":"secretly"}`)
		if a.Result.Kind != tool.Unavailable || !strings.Contains(a.Result.Text(), told) ||
			strings.Contains(a.Result.Text(), "has changed") || strings.Contains(a.Result.Text(), "secretly") ||
			strings.Contains(a.Result.Text(), "space") {
			t.Errorf("%s: %q", name, a.Result.Text())
		}
	}
	b.audit.breakWith(nil)
	if a := callTool(t, b, "echo", `{"text":"again"}`); a.Result.Failed {
		t.Errorf("it did not recover: %q", a.Result.Text())
	}
}

func TestHiddenAndUnknownToolsLookAlike(t *testing.T) {
	b := newTestServer(t)
	narrow := func(r *Request) { r.Narrow.Tools = []string{"echo"} }
	hidden, unknown := callTool(t, b, "change", `{}`, narrow), callTool(t, b, "chonge", `{}`, narrow)
	if hidden.Code == 0 || unknown.Code == 0 {
		t.Fatal("one of them was found")
	}
	if h, u := hidden.Result.Text(), strings.Replace(unknown.Result.Text(), "chonge", "change", 1); h != u {
		t.Errorf("they differ: %q and %q", h, u)
	}
}

// withRepeats sets the limits of repeated calls.
func withRepeats(warn, stop int) func(*Config) {
	return func(c *Config) { c.Settings.Limits.RepeatWarn, c.Settings.Limits.RepeatStop = warn, stop }
}

func TestRepeatedResultsGetAdvice(t *testing.T) {
	b := newTestServer(t, withRepeats(3, 10))
	for i := 1; i < 10; i++ {
		got := callTool(t, b, "echo", `{"text":"same"}`).Result.Text()
		if !strings.HasPrefix(got, "same0") || strings.Contains(got, "had the same result") != (i >= 3) {
			t.Errorf("call %d: %q", i, got)
		}
	}
	entries := b.audit.all()
	if entries[1].Repeats != 0 || entries[2].Repeats != 3 || entries[8].Repeats != 9 {
		t.Errorf("the audit log has %+v", entries)
	}
	for range 3 { // a cycle of two calls
		callTool(t, b, "echo", `{"n":1}`)
		callTool(t, b, "change", `{"n":1}`)
	}
	if entries = b.audit.all(); entries[len(entries)-1].Repeats != 3 {
		t.Errorf("a cycle of two calls got no advice: %+v", entries[len(entries)-1])
	}
}

func TestReadsAreRefusedWhenTheyAreRepeatedInARow(t *testing.T) {
	b := newTestServer(t, withRepeats(3, 10))
	for range 9 {
		callTool(t, b, "echo", `{"text":"same"}`)
	}
	for range 2 {
		a := callTool(t, b, "echo", `{"text":"same"}`)
		if a.Result.Kind != tool.Refused || !strings.Contains(a.Result.Text(), "9 times in a row") {
			t.Errorf("got %q", a.Result.Text())
		}
	}
	entries := b.audit.all()
	if last := entries[len(entries)-1]; last.Outcome != "refused" || !strings.Contains(last.Error, "in a row") {
		t.Errorf("the audit log has %+v", last)
	}
	callTool(t, b, "change", `{"text":"x"}`)
	if got := callTool(t, b, "echo", `{"text":"same"}`).Result.Text(); !strings.HasPrefix(got, "same0") {
		t.Errorf("after another call: %q", got)
	}
}

func TestCallsThatMayChangeSomethingAreNeverRefusedForRepeating(t *testing.T) {
	reads := commands{act[none]{spec: tool.Spec{Name: "run", Group: "test", Title: "run", Doc: "It runs.",
		Risk: tool.Runs}}}
	b := newTestServer(t, withTool(t, tool.Prepared(reads)), withRepeats(3, 5))
	for range 30 {
		if a := callTool(t, b, "run", `{}`); a.Result.Failed || !strings.HasPrefix(a.Result.Text(), "printed") {
			t.Fatalf("got %+v", a)
		}
	}
}

// commands is a tool that runs commands, of which this one reads.
type commands struct{ act[none] }

func (commands) Prepare(context.Context, none) (tool.Plan, error) {
	run := func(context.Context) (tool.Result, error) { return tool.Text("printed"), nil }
	return tool.Plan{Risk: tool.Reads, Run: run}, nil
}

// TestWhatNoModelRepeatsIsNoLoop makes calls for a schedule, and calls that only wait.
func TestWhatNoModelRepeatsIsNoLoop(t *testing.T) {
	waits := act[none]{tool.Spec{Name: "rest", Group: "test", Title: "rest", Doc: "It waits.", Risk: tool.Reads,
		Waits: true}, func(context.Context, none) (tool.Result, error) { return tool.Text("nothing"), nil }}
	b := newTestServer(t, withRepeats(3, 5))
	resting := newTestServer(t, withTool(t, tool.New(waits)), withRepeats(3, 5))
	for range 60 {
		job := callTool(t, b, "echo", `{"text":"same"}`, func(r *Request) { r.Scheduled = true })
		if got := job.Result.Text(); got != "same0" {
			t.Fatalf("a scheduled call: %q", got)
		}
		if got := callTool(t, resting, "rest", `{}`).Result.Text(); strings.Contains(got, "same result") ||
			strings.Contains(got, "in a row") {
			t.Fatalf("a call that waits: %q", got)
		}
	}
}

func TestZeroSwitchesLoopProtectionOff(t *testing.T) {
	b := newTestServer(t, withRepeats(0, 0))
	for range 30 {
		if got := callTool(t, b, "echo", `{"text":"same"}`).Result.Text(); got != "same0" {
			t.Fatalf("got %q", got)
		}
	}
}

func TestApprovalIsGoodForOneCall(t *testing.T) {
	b := newTestServer(t)
	can := func(r *Request) { r.Can = func(tool.Medium) bool { return true } }
	ask := func(t *testing.T, args string) *InputRequest {
		t.Helper()
		a := callTool(t, b, "launch", args, can)
		if a.InputRequest == nil {
			t.Fatalf("no question was asked: %q", a.Result.Text())
		}
		return a.InputRequest
	}
	with := func(state, decision string, more ...func(*Request)) func(*Request) {
		return func(r *Request) {
			can(r)
			said := json.RawMessage(`{"action":"accept","content":{"decision":"` + decision +
				`","reason":"not today"}}`)
			r.Input = &InputResponse{State: state, Answers: map[string]json.RawMessage{approvalKey: said}}
			for _, f := range more {
				f(r)
			}
		}
	}
	q := ask(t, `{"text":"x"}`)
	params, _ := q.Questions[approvalKey].Params.(map[string]any)
	if text, _ := params["message"].(string); !strings.Contains(text, "\n  text: x\n") ||
		strings.Contains(q.State, "launch") {
		t.Errorf("the question is %+v", q)
	}
	if a := callTool(t, b, "launch", `{"text":"x"}`, with(q.State, "allow")); a.Result.Text() != "launched x" {
		t.Errorf("approved, and got %q", a.Result.Text())
	}
	for name, a := range map[string]Response{
		"used twice":      callTool(t, b, "launch", `{"text":"x"}`, with(q.State, "allow")),
		"other arguments": callTool(t, b, "launch", `{"text":"y"}`, with(ask(t, `{"text":"x"}`).State, "allow")),
		"another user": callTool(t, b, "launch", `{"text":"x"}`,
			with(ask(t, `{"text":"x"}`).State, "allow", func(r *Request) { r.Caller.User = "v" })),
		"another session": callTool(t, b, "launch", `{"text":"x"}`,
			with(ask(t, `{"text":"x"}`).State, "allow", func(r *Request) { r.Caller.Session = "t" })),
		"a changed state": callTool(t, b, "launch", `{"text":"x"}`, with(ask(t, `{"text":"x"}`).State+"A", "allow")),
		"a made-up state": callTool(t, b, "launch", `{"text":"x"}`, with("bm9uc2Vuc2U", "allow")),
		"denied":          callTool(t, b, "launch", `{"text":"x"}`, with(ask(t, `{"text":"x"}`).State, "deny")),
		"an odd decision": callTool(t, b, "launch", `{"text":"x"}`,
			with(ask(t, `{"text":"x"}`).State, "allow everything")),
		"said by argument": callTool(t, b, "launch", `{"text":"x","approved":true}`, can),
	} {
		if a.InputRequest != nil || !a.Result.Failed {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for _, e := range b.audit.all() {
		if e.Outcome == "ok" && e.Approval != "elicitation" {
			t.Errorf("ran without approval: %+v", e)
		}
	}
}

func TestRatesAndQueuesAnswerBusy(t *testing.T) {
	b := newTestServer(t, func(c *Config) {
		c.Settings.Limits.PerMinute, c.Settings.Limits.Burst = 60, 2
	})
	callTool(t, b, "echo", `{"n":1}`)
	callTool(t, b, "echo", `{"n":2}`)
	if a := callTool(t, b, "echo", `{"n":3}`); a.Result.Kind != tool.Busy ||
		!strings.Contains(a.Result.Text(), "wait") {
		t.Errorf("the third call got %q", a.Result.Text())
	}
	other := func(r *Request) { r.Caller.Session = "other" }
	if a := callTool(t, b, "echo", `{"n":3}`, other); a.Result.Failed {
		t.Errorf("another session got %q", a.Result.Text())
	}
}

func TestSettingsAreSwappedWhole(t *testing.T) {
	b := newTestServer(t)
	next := testSettings(t, b.Config.Tools, policy.Rules{Deny: policy.List{"echo"}})
	if err := b.Apply(next); err != nil {
		t.Fatal(err)
	}
	if a := callTool(t, b, "echo", `{}`); a.Code == 0 {
		t.Errorf("echo is still there: %q", a.Result.Text())
	}
	if strings.Contains(string(b.ToolsList(testAccess())), `"echo"`) {
		t.Error("echo is still listed")
	}
	next.Limits.Timeout = 0
	if err := b.Apply(next); err == nil {
		t.Error("settings without a time limit were taken")
	}
}

func TestCallsRunInTheirTime(t *testing.T) {
	b := newTestServer(t, func(c *Config) { c.Settings.Limits.Timeout = 1 })
	if a := callTool(t, b, "slow", `{"text":"x"}`); a.Result.Kind != tool.Timeout ||
		!strings.Contains(a.Result.Text(), "took longer than 1ns") {
		t.Errorf("got %q", a.Result.Text())
	}
	b = newTestServer(t, func(c *Config) { c.Settings.Limits.ToolTime = map[string]time.Duration{"slow": 2 * time.Nanosecond} })
	if a := callTool(t, b, "slow", `{"text":"x"}`); !strings.Contains(a.Result.Text(), "took longer than 2ns") {
		t.Errorf("with a time of its own it got %q", a.Result.Text())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if a := b.Call(ctx, Request{Access: testAccess(), Tool: "slow",
		Args: []byte(`{}`)}); a.Result.Kind != tool.Cancelled {
		t.Errorf("a cancelled call got %q", a.Result.Text())
	}
}

func TestModelsReadWhatOnlyProgramsGot(t *testing.T) {
	b := newTestServer(t)
	c := b.newCall(Request{Access: testAccess()}, "")
	if got := c.cut(t.Context(), tool.Result{Data: map[string]any{"n": 1}}, tool.Tool{}).Text(); got != `{"n":1}` {
		t.Errorf("the text is %q", got)
	}
	if got := c.cut(t.Context(), tool.Text("one").With(map[string]any{"n": 1}), tool.Tool{}).Text(); got != "one" {
		t.Errorf("a second copy: %q", got)
	}
}

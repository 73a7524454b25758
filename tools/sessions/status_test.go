package sessions

import (
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestSessionStatus(t *testing.T) {
	parent := caller("coder", "ada", "7")
	me := child(parent, "sub-1")
	status := func() tool.SessionStatus {
		return tool.SessionStatus{
			Since: time.Unix(1769862600, 0), Calls: 7, Failed: 2, Tools: 3,
			Profile: "coding", Autonomy: "supervised", Left: 193, Version: "v1",
		}
	}
	ctx := tool.With(t.Context(), &tool.Running{Caller: me, Status: status})
	res, err := sessionStatus{open(storetest.Open(t, t.TempDir()), Agent)}.Do(ctx, sessionStatusArgs{})
	if err != nil {
		t.Fatal(err)
	}
	want := `Session: agent:coder:subagent:sub-1
Agent: coder
User: ada
Profile: coding, 3 tools, autonomy supervised
Channel: stdio
Depth: 1, as a subagent
Started by: agent:coder:stdio:7
Calls: 7, 2 of them failed; 193 more may be made at once
Since: 2026-01-31T12:30:00Z
Server: mcp-tools v1`
	if diff := cmp.Diff(want, res.Text()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestStatusOfAnotherSession(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		s := open(st, Agent)
		one, two := caller("coder", "ada", "1"), caller("coder", "ada", "2")
		sub := child(one, "sub-1")
		join(t, s, one, two, sub)
		has(t, call(t, s, one, "session_status", map[string]any{"label": "tester", "model": "m-1"}),
			"Label: tester", "Model: m-1", "only shown", "Has started: 1 sessions")
		has(t, call(t, s, two, "session_status", map[string]any{"session_key": "tester"}),
			"Session: agent:coder:stdio:1", "Client: test 1", "Calls: 1, 0 of them failed", "Tokens: 10 read")
		has(t, call(t, s, one, "session_status", map[string]any{"session_key": sub.Key(), "model": "m-2"}),
			"Model: m-2")
		if row, _, err := s.Row(t.Context(), toOf(sub)); err != nil || row.Model != "m-2" {
			t.Errorf("the subagent has the model %q, %v", row.Model, err)
		}
		hasNot(t, call(t, s, one, "session_status", map[string]any{"session_key": sub.Key(), "model": "default"}),
			"Model")
		for _, other := range []tool.Caller{two, sub} {
			has(t, call(t, s, other, "session_status", map[string]any{"session_key": one.Key(), "label": "x"}),
				"refused: ")
		}
		has(t, call(t, s, two, "session_status", map[string]any{"session_key": "nobody"}), "not_found: ",
			"sessions_list")
		has(t, call(t, s, two, "session_status", map[string]any{"label": "tester"}), "Label: tester")
		sub2 := caller("coder", "ada", "3")
		has(t, call(t, s, sub2, "session_status", map[string]any{"session_key": "tester"}),
			"invalid: 2 sessions are labelled", one.Key(), two.Key())
	})
}

// TestEnvironmentAndSystem shows the variables that the operator gives, and none of this process.
func TestEnvironmentAndSystem(t *testing.T) {
	t.Setenv("MINE", "of the process")
	s := New(Options{Environment: map[string]string{"REGION": "eu", "STAGE": "test"}})
	do := func(a sessionStatusArgs) string {
		t.Helper()
		res, err := sessionStatus{s}.Do(t.Context(), a)
		if err != nil {
			return err.Error()
		}
		return res.Text()
	}
	for a, want := range map[sessionStatusArgs]string{
		{About: "environment"}:                 "REGION: eu\nSTAGE: test",
		{About: "environment", Name: "REGION"}: "eu",
		{About: "environment",
			Name: "MINE"}: `not_found: the operator shows no variable "MINE"; leave name out to see the variables that are shown`,
		{About: "environment",
			Name: "PATH"}: `not_found: the operator shows no variable "PATH"; leave name out to see the variables that are shown`,
	} {
		if got := do(a); got != want {
			t.Errorf("%+v: got %q, want %q", a, got, want)
		}
	}
	has(t, do(sessionStatusArgs{About: "system"}), "System: "+runtime.GOOS+"/"+runtime.GOARCH, "Processors: ")
}

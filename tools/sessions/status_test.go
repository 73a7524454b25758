package sessions

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestSessionStatus(t *testing.T) {
	caller := tool.Caller{Agent: "coder", User: "ada", Channel: "stdio", Session: "s1", Depth: 1}
	status := func() tool.SessionStatus {
		return tool.SessionStatus{
			Since: time.Unix(1769862600, 0), Calls: 7, Failed: 2, Tools: 3,
			Profile: "coding", Autonomy: "supervised", Left: 193, Version: "v1",
		}
	}
	ctx := tool.With(t.Context(), &tool.Running{Caller: caller, Status: status})
	res, err := sessionStatus{}.Do(ctx, sessionStatusArgs{})
	if err != nil {
		t.Fatal(err)
	}
	want := `Session: s1
Agent: coder
User: ada
Profile: coding, 3 tools, autonomy supervised
Channel: stdio
Depth: 1, as a subagent
Calls: 7, 2 of them failed; 193 more may be made at once
Since: 2026-01-31T12:30:00Z
Server: mcp-tools v1`
	if diff := cmp.Diff(want, res.Text()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

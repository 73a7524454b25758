package server

import (
	"context"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// TestSessionsBeginWithTheList: who lists the tools gets what is prepared for its session.
func TestSessionsBeginWithTheList(t *testing.T) {
	type begun struct{ echo, launch bool }
	var sessions []begun
	b := newTestServer(t, func(c *Config) {
		c.Settings = testSettings(t, c.Tools, policy.Rules{Deny: []string{"launch"}})
		c.Begun = func(_ tool.Caller, mayUse func(string) bool) {
			sessions = append(sessions, begun{mayUse("echo"), mayUse("launch")})
		}
	})
	list, broken := jsonrpc.Parse([]byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if broken != nil {
		t.Fatal(broken)
	}
	a := Access{Caller: tool.Caller{Agent: "a", User: "u", Session: "s"}}
	b.newSession(a).handle(context.Background(), list, a, nil)
	if len(sessions) != 1 || sessions[0] != (begun{true, false}) {
		t.Errorf("begun: %+v", sessions)
	}
}

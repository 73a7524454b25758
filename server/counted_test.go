package server

import (
	"context"
	"testing"

	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/tools"
)

// What a call was narrowed to is what its caller is told of.
func TestStatusCountsWhatTheCallSees(t *testing.T) {
	var b *testServer
	status := tool("status", tools.Reads, func(ctx context.Context, _ none) (tools.Result, error) {
		return tools.Textf("%d", b.Status(ctx).Tools), nil
	})
	idle := func(context.Context, none) (tools.Result, error) { return tools.Text("x"), nil }
	b = withTools(t, status, tool("one", tools.Reads, idle), tool("two", tools.Writes, idle))
	for want, narrow := range map[string]policy.Narrow{
		"3": {}, "1": {Tools: []string{"status"}}, "2": {ReadOnly: true},
	} {
		a := call(t, b, "status", `{}`, func(r *Request) { r.Narrow = narrow })
		if got := a.Result.Text(); got != want {
			t.Errorf("narrowed to %+v, it counts %s, want %s", narrow, got, want)
		}
	}
}

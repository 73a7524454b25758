package server

import (
	"context"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// TestStatusIsNarrowedLikeItsCall compares the number of tools in a status with the narrowing of the request.
func TestStatusIsNarrowedLikeItsCall(t *testing.T) {
	status := newTool("status", tool.Reads, func(ctx context.Context, _ none) (tool.Result, error) {
		return tool.Textf("%d", tool.RunningFrom(ctx).Status().Tools), nil
	})
	idle := func(context.Context, none) (tool.Result, error) { return tool.Text("x"), nil }
	b := withTools(t, status, newTool("one", tool.Reads, idle), newTool("two", tool.Writes, idle))
	for want, narrow := range map[string]policy.Narrow{
		"3": {}, "1": {Tools: []string{"status"}}, "2": {ReadOnly: true},
	} {
		a := callTool(t, b, "status", `{}`, func(r *Request) { r.Narrow = narrow })
		if got := a.Result.Text(); got != want {
			t.Errorf("narrowed to %+v, it counts %s, want %s", narrow, got, want)
		}
	}
}

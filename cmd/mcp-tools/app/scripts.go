package app

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/child"
	"github.com/mcp-tools/mcp-tools/internal/telemetry"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/script"
)

// scripts returns the runner of scripts. It starts nothing.
func (a *App) scripts() *script.Runner {
	a.runner = &script.Runner{
		Marks: tool.NewMarks(),
		Start: func(ctx context.Context, args []string, memory int64) (sandbox.Link, error) {
			return child.Start(ctx, a.tiers, args, memory)
		},
		Call: func(ctx context.Context, c script.Inner) tool.Result {
			g := c.Grant
			g.Within = g.Within[:len(g.Within)-1] // a script is its caller
			if len(g.Within) == 0 {
				g.Within = nil
			}
			return a.Server.CallFor(ctx, server.Request{
				Access: server.AccessOf(g), Tool: c.Tool, Args: c.Args, Parent: c.Script, Nested: true,
				Asking: c.Asking,
				Trace:  telemetry.Traceparent(ctx),
			}, g.Caller)
		},
	}
	return a.runner
}

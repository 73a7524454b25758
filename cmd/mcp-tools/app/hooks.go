package app

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/hooks"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// hookOptions returns the needs of the operator's hooks.
func (a *App) hookOptions() hooks.Options {
	return hooks.Options{
		Programs: operatorPrograms(a.tiers, a.data, a.ownPorts(), a.log.With("agent", "hooks")),
		Dir: func(ctx context.Context) (string, error) {
			dir, _, err := a.files.Dir(ctx, "")
			return dir, err
		},
		Changeable: a.changeable,
		Checkpoint: func(ctx context.Context, command string) func() {
			return a.files.Checkpoint(ctx, workspace.Command{Text: command})
		},
		Log: a.log,
	}
}

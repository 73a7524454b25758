// Package exec has the tools that run commands: exec, process and
// credentialed_exec.
//
// It reads the request of a model, judges its risk, and reports the result. It does not know
// sandboxes or processes: [Commands] does, and chooses the sandbox and the visible files of a
// caller's commands. The packages below this one are independent of tools: judge (the effects
// of a command), cli (programs with credentials) and terminal (control characters).
//
// To see how a command is run read exectool.go and foreground.go; the list is
// [Tools].
package exec

import (
	"context"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// Commands runs commands for the caller in the context. The model may see its
// errors as they are.
type Commands interface {
	// Site returns where a command would run, and starts nothing. dir is the model's text, ""
	// for the workspace. An elevated command runs on the host.
	Site(ctx context.Context, dir string, elevated bool) (sandbox.Site, error)
	// Start starts a command. The command outlives ctx. The code that starts it waits for its
	// end, kills it, or leaves it to the caller with Keep.
	Start(ctx context.Context, c sandbox.Command) (sandbox.Process, error)
	// Process returns a command that was left to the caller.
	Process(ctx context.Context, id string) (sandbox.Process, error)
	// Processes returns all of them, the oldest first.
	Processes(ctx context.Context) ([]sandbox.Process, error)
}

// A Keeper keeps output that is too long for the model.
type Keeper interface {
	// Keep stores the scrubbed content of r under a handle. The same caller can give the handle
	// to read_result.
	Keep(ctx context.Context, r io.Reader) (handle string, err error)
}

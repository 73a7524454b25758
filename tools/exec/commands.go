// Package exec has the tools that run commands: exec, process and
// credentialed_exec.
//
// It reads what a model asks for, finds out how risky that is, and reports the
// result. It does not know sandboxes or processes: [Commands] does, and decides
// where a caller's commands run and what they see there. The packages below this
// one are independent of tools: judge (what a command does), cli (programs with
// credentials) and terminal (what control characters mean).
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
	// Site returns where a command would run, and starts nothing. dir is what the
	// model wrote, "" for the workspace.
	Site(ctx context.Context, dir string) (Site, error)
	// Start starts a command, which outlives ctx. The code that starts it waits for
	// its end, kills it, or leaves it to the caller with Keep.
	Start(ctx context.Context, c Command) (Process, error)
	// Process returns a command that was left to the caller.
	Process(ctx context.Context, id string) (Process, error)
	// Processes returns all of them, the oldest first.
	Processes(ctx context.Context) ([]Process, error)
}

// The types of commands and processes belong to the package sandbox.
type (
	Site    = sandbox.Site
	Command = sandbox.Command
	Apart   = sandbox.Apart
	Stream  = sandbox.Stream
	Process = sandbox.Process
	Until   = sandbox.Until
	State   = sandbox.State
	Status  = sandbox.Status
	Log     = sandbox.Log
)

// The streams and the states.
const (
	Stdout   = sandbox.Stdout
	Stderr   = sandbox.Stderr
	Running  = sandbox.Running
	Exited   = sandbox.Exited
	TimedOut = sandbox.TimedOut
	Killed   = sandbox.Killed
	Starved  = sandbox.Starved
	Vanished = sandbox.Vanished
)

// A Keeper keeps output that is too long for the model.
type Keeper interface {
	// Keep keeps the content of r, scrubbed, under a handle that the same caller
	// can give to read_result.
	Keep(ctx context.Context, r io.Reader) (handle string, err error)
}

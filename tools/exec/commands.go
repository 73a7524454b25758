// Package exec holds the tools that run commands.
//
// It knows how a model asks for a command, how risky that command is, and how
// to tell what came of it. It does not know walls, containers or processes:
// [Commands] does, and decides where a caller's commands run and what they see
// there. The parts that have nothing to do with tools are in packages below
// this one: judge (what a command does), cli (programs that hold credentials)
// and terminal (what control characters mean).
//
// To see how a command is run read exectool.go and foreground.go; the list is
// [Tools].
package exec

import (
	"context"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// Commands runs commands for whoever the running call is made for: the caller
// is in the context. Errors are fit for the model as they are.
type Commands interface {
	// Site says where a command would run, and starts nothing. dir is what the
	// model wrote, "" for the workspace.
	Site(ctx context.Context, dir string) (Site, error)
	// Start starts a command. It outlives ctx: whoever starts it waits for its
	// end, kills it, or leaves it to the caller with Keep.
	Start(ctx context.Context, c Command) (Process, error)
	// Process finds a command that was left to the caller.
	Process(ctx context.Context, id string) (Process, error)
	// Processes are all of them, the oldest first.
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
	// Keep keeps what r has to say, scrubbed, under a handle that read_result
	// takes from the running call's caller.
	Keep(ctx context.Context, r io.Reader) (handle string, err error)
}

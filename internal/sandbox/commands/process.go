package commands

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// waitsAfter is how long a command must be silent after a prompt to be reported as
// waiting for input.
const waitsAfter = 2 * time.Second

// A process is a command that was started. It is the box.Sink of the command: the
// box calls its methods in order, from one goroutine.
type process struct {
	c        *Commands
	owner    owner
	instance *instance
	child    *box.Child // nil if the sandbox was lost at the start
	private  bool
	grant    tool.Grant // of the call that started it
	stdout   *log
	stderr   *log
	watcher  *watcher // nil if the command has no Watch

	// Guarded by Commands.mu:
	left   bool // the process was left to its owner
	beyond bool
	number uint64 // the order of the kept processes

	mu     sync.Mutex
	status sandbox.Status // State is Running until the end
	exit   wire.ExitBody
	ended  bool
	gone   bool
	wanted sandbox.State // Killed or TimedOut if the server ended it
	quiet  time.Time     // the last time it wrote or read something
	open   bool          // its stdin is open
	prompt bool          // its last output is not a complete line
	late   *time.Timer   // ends the instance if the agent does not enforce the timeout
	force  *time.Timer   // ends the instance if a kill has no effect
	change chan struct{}
	end    chan struct{} // closed when the command has ended
	over   chan struct{} // closed when all its descendants have ended too
}

// Output receives output of the command.
func (p *process) Output(s sandbox.Stream, data []byte) {
	if len(data) == 0 {
		return
	}
	p.log(s).write(data)
	if p.watcher != nil {
		p.watcher.add(s, data)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet, p.prompt = time.Now(), data[len(data)-1] != '\n'
	p.wake()
}

// Skipped records output that the agent has left out.
func (p *process) Skipped(s sandbox.Stream, n int64) {
	p.log(s).skip(n)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet = time.Now()
	p.wake()
}

// Exited receives the exit status of the command itself.
func (p *process) Exited(how wire.ExitBody) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	if p.c.outOfMemory(how) {
		how.LimitExceeded = "memory"
	}
	p.exit = how
	state := sandbox.Exited
	switch {
	case how.TimedOut || p.wanted == sandbox.TimedOut:
		state = sandbox.TimedOut
	case how.LimitExceeded != "":
		state = sandbox.LimitExceeded
		p.status.Why = p.c.limitText(how.LimitExceeded)
	case how.Killed || p.wanted == sandbox.Killed && how.Signal != "":
		state = sandbox.Killed
	}
	p.mu.Unlock()
	p.finish(state)
	if p.private {
		p.c.end(p.instance) // also ends the descendants that still run
	}
}

// Gone is called when all descendants have ended, or with an error when the
// sandbox is lost.
func (p *process) Gone(err error) {
	p.mu.Lock()
	if p.gone {
		p.mu.Unlock()
		return
	}
	p.gone = true
	ended, state := p.ended, p.wanted
	if !ended && state == "" {
		state = sandbox.Lost
		p.status.Why = "the sandbox was lost, so it is not known how far the command got"
		if host := p.instance.box.Host(); host != "" {
			if known := (*tool.Error)(nil); errors.As(err, &known) {
				host += " (" + known.What + ")"
			}
			p.status.Why = "the sandbox on " + host + " was lost, so it is not known how far the command got; what it has changed " +
				"in its last seconds is not in the workspace"
		}
	}
	if p.force != nil {
		p.force.Stop()
	}
	p.mu.Unlock()
	if !ended {
		p.finish(state)
	}
	p.tellEnd()
	p.c.removeRunning(p, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.over)
	p.wake()
}

// tellEnd calls Ended for a process that was left to a caller.
func (p *process) tellEnd() {
	if p.c.o.Ended == nil {
		return
	}
	p.c.mu.Lock()
	left := p.left
	p.c.mu.Unlock()
	if left {
		p.c.o.Ended(p.grant.Caller)
	}
}

// finish sets the final status, after the watcher has passed on all output.
func (p *process) finish(state sandbox.State) {
	at := time.Now()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
	p.tellEnd()
	tell := func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.status.State, p.status.ExitedAt = state, at
		if p.late != nil {
			p.late.Stop()
		}
		close(p.end)
		p.wake()
	}
	if p.watcher == nil {
		tell()
		return
	}
	p.watcher.finish(tell)
}

// wake notifies the goroutines that wait for a change. p.mu is held.
func (p *process) wake() {
	if p.change != nil {
		close(p.change)
		p.change = nil
	}
}

// changed returns a channel that is closed at the next change. p.mu is held.
func (p *process) changed() <-chan struct{} {
	if p.change == nil {
		p.change = make(chan struct{})
	}
	return p.change
}

func (p *process) log(s sandbox.Stream) *log {
	if s == sandbox.Stderr {
		return p.stderr
	}
	return p.stdout
}

// Log returns the log of a stream.
func (p *process) Log(s sandbox.Stream) sandbox.Log { return p.log(s) }

// Status returns the current status.
func (p *process) Status() sandbox.Status {
	p.c.mu.Lock()
	beyond := p.beyond
	p.c.mu.Unlock()
	short := p.stdout.short() || p.stderr.short()
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.status
	s.Beyond = beyond
	if short {
		s.Why = join(s.Why, "the disk for output is full, so part of the output is lost")
	}
	if s.State == sandbox.Running {
		s.Took = time.Since(s.Started)
		s.Waiting = (p.open || s.TTY) && p.prompt && time.Since(p.quiet) >= waitsAfter
		return s
	}
	s.Took = s.ExitedAt.Sub(s.Started)
	s.Code, s.Signal, s.CPU, s.Memory = p.exit.Code, p.exit.Signal, p.exit.CPU, p.exit.Memory
	if p.exit.Took > 0 {
		s.Took = p.exit.Took
	}
	if !p.gone {
		s.Left = max(p.exit.Left, 0)
	}
	return s
}

func join(one, two string) string {
	if one == "" {
		return two
	}
	return one + "; " + two
}

// outOfMemory reports whether the kernel killed a command because the memory of its sandbox was full: it is faster than
// the agent, and says so to nobody in a sandbox.
func (c *Commands) outOfMemory(how wire.ExitBody) bool {
	const killed = 128 + 9
	limit := c.o.Limits.Memory
	return how.Code == killed && !how.Killed && !how.TimedOut && limit > 0 && how.Memory > limit-limit/4
}

// limitText describes the limit that a command exceeded.
func (c *Commands) limitText(of string) string {
	switch of {
	case "memory":
		return fmt.Sprintf("it took more than %d MiB of memory", c.o.Limits.Memory>>20)
	case "processes":
		return fmt.Sprintf("it started more than %d processes", c.o.Limits.Processes)
	}
	return "it exceeded a limit of the sandbox"
}

// isOver reports whether the command and all its descendants have ended.
func (p *process) isOver() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// endedAt returns when the command itself ended.
func (p *process) endedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status.ExitedAt
}

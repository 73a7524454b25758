package commands

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// waitsAfter is for how long a command that asked for something has to be
// silent before it seems to wait for an answer.
const waitsAfter = 2 * time.Second

// A process is a command that was started. The box calls it back with what
// happens, in order and from one goroutine.
type process struct {
	c       *Commands
	owner   owner
	cell    *cell
	child   *box.Child // nil when it was lost at the start
	apart   bool
	stdout  *log
	stderr  *log
	watcher *watcher // nil: nobody watches

	// Of the lock of Commands:
	left   bool // it was left to its owner
	beyond bool
	number uint64 // of those that were left: the order

	mu     sync.Mutex
	status sandbox.Status // State, once it has ended, and what does not change
	exit   wire.ExitBody
	ended  bool
	gone   bool
	wanted sandbox.State // what we did to it: Killed or TimedOut
	quiet  time.Time     // since when it has written and read nothing
	open   bool          // its stdin
	prompt bool          // what it wrote last is not a whole line
	late   *time.Timer   // ends its cell when the agent forgets the time
	force  *time.Timer   // ends its cell when a kill does not help
	change chan struct{}
	end    chan struct{} // closed when it has ended
	over   chan struct{} // closed when all that it started is gone too
}

// Output takes what the command wrote.
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

// Exited takes word that the command itself has ended.
func (p *process) Exited(how wire.ExitBody) {
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return
	}
	p.exit = how
	state := sandbox.Exited
	switch {
	case how.TimedOut || p.wanted == sandbox.TimedOut:
		state = sandbox.TimedOut
	case how.Starved != "":
		state = sandbox.Starved
		p.status.Why = p.c.starved(how.Starved)
	case how.Killed || p.wanted == sandbox.Killed && how.Signal != "":
		state = sandbox.Killed
	}
	p.mu.Unlock()
	p.finish(state)
	if p.apart {
		p.c.end(p.cell) // with whatever it has left
	}
}

// Gone takes word that nothing of the command is left, or that the sandbox is
// lost.
func (p *process) Gone(err error) {
	p.mu.Lock()
	if p.gone {
		p.mu.Unlock()
		return
	}
	p.gone = true
	ended, state := p.ended, p.wanted
	if !ended && state == "" {
		state = sandbox.Vanished
		p.status.Why = "the sandbox was lost, so what the command had done by then is not known"
	}
	if p.force != nil {
		p.force.Stop()
	}
	p.mu.Unlock()
	if !ended {
		p.finish(state)
	}
	p.c.departed(p, err)
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.over)
	p.wake()
}

// finish says how the command has ended, once those who watch it have seen what
// it wrote.
func (p *process) finish(state sandbox.State) {
	at := time.Now()
	p.mu.Lock()
	p.ended = true
	p.mu.Unlock()
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

// wake tells those who wait that something has changed. The lock is held.
func (p *process) wake() {
	if p.change != nil {
		close(p.change)
		p.change = nil
	}
}

// changed returns a channel that is closed at the next change. The lock is
// held.
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

// Log is what it has written to a stream.
func (p *process) Log(s sandbox.Stream) sandbox.Log { return p.log(s) }

// Status is how it is now.
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
		s.Why = join(s.Why, "the disk for output is full, so part of it is lost")
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

// starved says what a command took too much of.
func (c *Commands) starved(of string) string {
	switch of {
	case "memory":
		return fmt.Sprintf("it took more than %d MiB of memory", c.o.Limits.Memory>>20)
	case "processes":
		return fmt.Sprintf("it started more than %d processes", c.o.Limits.Processes)
	}
	return "it took too much of what the sandbox has"
}

// isOver says that nothing of it runs any more.
func (p *process) isOver() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// endedAt is when the command itself ended.
func (p *process) endedAt() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status.ExitedAt
}

// Package commands chooses the sandbox of each caller, and keeps the processes
// that were started in it.
//
// It knows callers: the sandbox in their profile, the files that they see, the callers that
// share a sandbox (two principals never do), and the caller of each background process. It
// keeps sandboxes open, replaces lost ones and ends unused ones. It does not know how a sandbox
// is built (the launchers do), how a process is run (box and agent do), or the meaning of a
// command (tools/exec does).
//
// Begin with [Commands.Start]. See target.go for where a command runs,
// instance.go for sandboxes, and process.go for running processes.
package commands

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// closeLimit bounds how long Close waits.
	closeLimit = 30 * time.Second
	// lastMoment is how long commands may continue when the server stops.
	// Clients kill the server half a second after they close its input.
	lastMoment = 200 * time.Millisecond
)

// Commands runs commands for callers. It implements the interface of tools/exec.
type Commands struct {
	o       Options
	spool   *spool
	moment  time.Duration   // lastMoment
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	working sync.WaitGroup // goroutines that Close waits for
	finish  func() error   // waits for the goroutines, once
	missing sync.Map       // missing paths that were already logged

	mu        sync.Mutex
	closed    bool        // nothing can be started
	last      *time.Timer // ends running commands; nil until Stop
	armed     bool
	sweeper   *time.Timer
	numbers   uint64
	warm      map[instanceKey]*instance // instances that accept commands
	instances map[*instance]bool        // all instances that have not ended
	running   map[*process]bool         // processes with a descendant that runs
	kept      map[string]*process
	dirs      map[owner]*cached[callerDirs]
}

// New returns Commands without any process. The caller must close it.
func New(o Options) (*Commands, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	c := &Commands{
		o: o, spool: &spool{parent: o.Spool, most: o.Background.Total}, moment: lastMoment,
		warm: map[instanceKey]*instance{}, instances: map[*instance]bool{}, running: map[*process]bool{},
		kept: map[string]*process{}, dirs: map[owner]*cached[callerDirs]{},
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.finish = sync.OnceValue(c.rest)
	return c, nil
}

func errClosed() error {
	return tool.Errorf(tool.Unavailable, "the server is shutting down").Try("try again when it is back")
}

// Stop announces that the server is about to end. Running commands may continue
// for a moment, so that calls that are nearly done return complete results; then
// they are killed, and the calls that wait for them return the reason.
func (c *Commands) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil && !c.closed {
		c.last = time.AfterFunc(c.moment, c.shut)
	}
}

// shut starts to end everything, and does not wait.
func (c *Commands) shut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.last != nil {
		c.last.Stop()
	}
	if c.sweeper != nil {
		c.sweeper.Stop()
	}
	for p := range c.running {
		p.markKilled("the server is shutting down")
	}
	for n := range c.instances {
		c.end(n)
	}
}

// Close ends all commands and waits until they have ended, for at most closeLimit.
func (c *Commands) Close() error {
	c.shut()
	return c.finish()
}

// rest waits for all goroutines and removes the spool.
func (c *Commands) rest() error {
	c.stop()
	done := make(chan struct{})
	go func() {
		c.working.Wait()
		close(done)
	}()
	late := time.NewTimer(closeLimit)
	defer late.Stop()
	var err error
	select {
	case <-done:
	case <-late.C:
		err = errors.New("some sandboxes did not end in time")
	}
	return errors.Join(err, c.spool.close())
}

// Sweep removes the files of dead processes. The first command that needs the
// spool does it too; Sweep is for servers that start no command.
func (c *Commands) Sweep() { sweepSpool(c.o.Spool) }

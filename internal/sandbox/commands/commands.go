// Package commands decides who gets which walls, and keeps what was started
// behind them.
//
// It knows callers: which sandbox their profile asks for, what of the file
// system is theirs, which of them share a sandbox (never two principals), and
// which process was left to whom. It keeps sandboxes warm, replaces those that
// were lost, and ends what nobody needs. It does not know how walls are built
// (the launchers do), how a process is run (agent, by way of box), or what a
// command means (tools/exec does).
//
// Begin with [Commands.Start], and read place.go for where a command runs,
// cell.go for the walls around it, and process.go for what becomes of it.
package commands

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// closeLimit bounds how long Close waits.
	closeLimit = 30 * time.Second
	// lastMoment is what commands have to end by themselves when the server
	// stops. Their clients promise theirs that all is gone in half a second.
	lastMoment = 200 * time.Millisecond
)

// Commands runs commands for callers. It implements the interface of tools/exec.
type Commands struct {
	o       Options
	walls   []*wall
	spool   *spool
	moment  time.Duration   // lastMoment
	life    context.Context // ends with Close
	stop    context.CancelFunc
	working sync.WaitGroup // what goes on in the background
	finish  func() error   // what Close does, once
	missing sync.Map       // paths that the operator was warned of

	mu      sync.Mutex
	closed  bool        // nothing is started any more
	last    *time.Timer // ends what runs; nil until the server stops
	armed   bool
	sweeper *time.Timer
	numbers uint64
	warm    map[cellKey]*cell // those that take commands
	cells   map[*cell]bool    // all that have not ended
	running map[*process]bool // all of which something still runs
	kept    map[string]*process
	grounds map[owner]*cached[surveyed]
}

// New returns commands that nobody has given yet. They have to be closed.
func New(o Options) (*Commands, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	c := &Commands{
		o: o, spool: &spool{parent: o.Spool, most: o.Background.Total}, moment: lastMoment,
		warm: map[cellKey]*cell{}, cells: map[*cell]bool{}, running: map[*process]bool{},
		kept: map[string]*process{}, grounds: map[owner]*cached[surveyed]{},
	}
	for _, l := range o.Launchers {
		c.walls = append(c.walls, &wall{Launcher: l, found: newCached[sandbox.Finding]()})
	}
	c.life, c.stop = context.WithCancel(context.Background())
	c.finish = sync.OnceValue(c.rest)
	return c, nil
}

func errClosed() error {
	return tool.Errorf(tool.Unavailable, "the server is shutting down").Try("try again when it is back")
}

// Stop says that the server is about to end. What runs has a moment to end by
// itself, so that the answers of what is nearly done are whole; then it is
// killed, and whoever waits for it hears why.
func (c *Commands) Stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil && !c.closed {
		c.last = time.AfterFunc(c.moment, c.shut)
	}
}

// shut ends everything, and does not wait for that.
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
		p.doom("the server is shutting down")
	}
	for n := range c.cells {
		c.end(n)
	}
}

// Close ends all commands and waits until they are gone, but not for ever.
func (c *Commands) Close() error {
	c.shut()
	return c.finish()
}

// rest waits for all that goes on in the background, and gives back the disk.
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

// Sweep removes what processes left that died. It is for a start that has no
// time for it; the first command that needs room does it too.
func (c *Commands) Sweep() { sweepSpool(c.o.Spool) }

// Findings says of each launcher whether it works here, for those who look
// after the server.
func (c *Commands) Findings(ctx context.Context) map[string]sandbox.Finding {
	all := map[string]sandbox.Finding{}
	for _, w := range c.walls {
		if f, err := w.finding(ctx); err == nil {
			all[w.Name()] = f
		}
	}
	return all
}

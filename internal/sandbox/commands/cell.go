package commands

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// launchLimit bounds the start of walls.
const launchLimit = time.Minute

// A cell is a set of walls with an agent behind them, and the commands of one
// owner. It is opened by the first of them, and waits warm for the next.
type cell struct {
	key    cellKey
	digest string
	ready  chan struct{} // closed when it is open, or err says why it is not
	err    error
	box    *box.Box
	home   string
	proxy  bool
	clean  []func() // what goes with it
	gone   chan struct{}
	ending sync.Once
	dying  atomic.Bool

	// Of the cells' lock:
	busy    int // commands in it, and calls that are about to start one
	born    time.Time
	used    time.Time
	retired bool // it takes no more commands, and goes with its last
}

// A cellKey says which commands share a cell. A cell of one command has a
// number of its own.
type cellKey struct {
	owner owner
	tier  string
	apart uint64
}

// A plan is what a cell is opened with.
type plan struct {
	walls sandbox.Walls
	home  string
	hosts []string
	proxy bool
	clean []func()
}

// key says whose cell a command at this place runs in.
func (c *Commands) key(p *place) cellKey {
	who := ownerOf(p.caller)
	if c.o.Scope == Agent {
		who.session = ""
	}
	return cellKey{owner: who, tier: p.site.Tier}
}

// plan says what walls a place has. The layout is made anew, since a home may
// be good for one set of walls only.
func (c *Commands) plan(p *place, roots ...sandbox.Root) plan {
	g := p.ground.Directories
	for _, r := range roots {
		g.Roots = withRoot(slices.Clone(g.Roots), r.Path, r.Write)
	}
	p.layout = c.layout(p.wall, g)
	return plan{
		walls: sandbox.Walls{
			ID:      strings.ToLower(rand.Text()),
			Owner:   p.caller.Principal(),
			Binds:   p.layout.Binds,
			Home:    p.layout.Home,
			Hidden:  p.ground.Hidden,
			Locked:  p.ground.Locked,
			Open:    !p.site.Sealed,
			Limits:  c.o.Limits,
			Require: p.policy.Require,
		},
		home:  home(p),
		proxy: p.site.Sealed && p.site.Network,
	}
}

// warmHome is the home of commands that run in a cell which is open.
func (c *Commands) warmHome(p *place) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.warm[c.key(p)]; n != nil && n.isOpen() {
		return n.home
	}
	return home(p)
}

// digest tells walls from others that the same owner had at another time.
func (p *place) digest() (string, error) {
	return digestOf([]any{p.ground.digest, p.extra, p.policy.Require, p.site.Network})
}

// take returns an open cell, and counts the caller as one of its commands:
// leave ends that. However many wait for it, a cell is opened once.
func (c *Commands) take(ctx context.Context, p *place) (*cell, error) {
	digest, err := p.digest()
	if err != nil {
		return nil, err
	}
	for range 2 { // one that was lost while nobody looked is replaced once
		cell, err := c.enter(p, digest)
		if err != nil {
			return nil, err
		}
		if err := c.await(ctx, cell); err != nil {
			return nil, err
		}
		if !cell.lost() {
			return cell, nil
		}
		c.leave(cell, true)
	}
	return nil, tool.Errorf(tool.Unavailable, "the sandbox ends as soon as it has started").
		Try("try again in a while; the operator finds the cause in the log")
}

// await waits until a cell is open.
func (c *Commands) await(ctx context.Context, cell *cell) error {
	select {
	case <-cell.ready:
		if cell.err != nil {
			c.leave(cell, true)
			return cell.err
		}
		return nil
	case <-ctx.Done():
		c.leave(cell, false)
		return context.Cause(ctx)
	}
}

// enter finds the cell for a place, or makes it and has it opened.
func (c *Commands) enter(p *place, digest string) (*cell, error) {
	key := c.key(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	known := c.warm[key]
	if known != nil && (known.digest != digest || known.lost() || time.Since(known.born) > c.o.Age) {
		c.retire(known)
		known = nil
	}
	if known == nil {
		if err := c.makeRoom(); err != nil {
			return nil, err
		}
		known = c.newCell(key, digest)
		c.warm[key] = known
		c.working.Go(func() { c.open(known, p, c.plan(p)) })
	}
	known.busy++
	return known, nil
}

// newCell returns a cell that is still to be opened. The lock is held.
func (c *Commands) newCell(key cellKey, digest string) *cell {
	now := time.Now()
	n := &cell{
		key: key, digest: digest, born: now, used: now,
		ready: make(chan struct{}), gone: make(chan struct{}),
	}
	c.cells[n] = true
	c.arm()
	return n
}

// makeRoom ends the cell that has been idle for longest where there are too
// many. The lock is held.
func (c *Commands) makeRoom() error {
	var idle *cell
	living := 0
	for n := range c.cells {
		if !n.dying.Load() {
			living++
		}
		if n.busy == 0 && !n.retired && (idle == nil || n.used.Before(idle.used)) {
			idle = n
		}
	}
	if living < c.o.Boxes {
		return nil
	}
	if idle == nil {
		return tool.Errorf(tool.Busy, "all %d sandboxes of this server are in use", c.o.Boxes).
			Try("wait for commands to end, or end some with process kill")
	}
	c.retire(idle)
	return nil
}

// open starts what is behind the walls. Nobody's cancelling stops it: others
// may wait for it too.
func (c *Commands) open(n *cell, p *place, pl plan) {
	defer close(n.ready)
	ctx, cancel := context.WithTimeout(tool.With(c.life, &tool.Running{Caller: p.caller}), launchLimit)
	defer cancel()
	n.home, n.proxy, n.clean = pl.home, pl.proxy, pl.clean
	if pl.proxy {
		socket, stop, err := c.o.Proxy(ctx, p.caller, pl.hosts)
		if err != nil {
			n.err = c.notOpened(p, err)
			return
		}
		pl.walls.Proxy = socket
		n.clean = append(n.clean, stop)
	}
	link, err := p.wall.Launch(ctx, pl.walls)
	if err == nil {
		if n.box, err = box.Open(ctx, link); err != nil {
			err = errors.Join(err, link.Close())
		}
	}
	if err != nil {
		p.wall.found.doubt()
		n.err = c.notOpened(p, err)
	}
}

// notOpened is what the model reads when there are no walls.
func (c *Commands) notOpened(p *place, err error) error {
	c.o.Log.Warn("a sandbox did not start", "tier", p.site.Tier, "owner", p.caller.Principal(), "error", err)
	var known *tool.Error
	if errors.As(err, &known) {
		return known
	}
	return tool.Errorf(tool.Unavailable, "the %s sandbox did not start", p.site.Tier).
		Try("try again; if it goes on, the operator finds the cause in the log and with mcp-tools doctor").
		Because(fmt.Errorf("starting the %s sandbox: %w", p.site.Tier, err))
}

// lost says that there is nothing behind the walls any more.
func (n *cell) lost() bool { return n.isReady() && !n.isOpen() }

func (n *cell) isOpen() bool {
	return n.isReady() && n.box != nil && !n.dying.Load() && n.box.Err() == nil
}

// isReady says that the cell is not about to be opened.
func (n *cell) isReady() bool {
	select {
	case <-n.ready:
		return true
	default:
		return false
	}
}

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
	"github.com/mcp-tools/mcp-tools/internal/slots"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// launchLimit bounds the start of a sandbox.
const launchLimit = time.Minute

// An instance is a sandbox with an agent, and the commands of one owner in it.
// The first command opens it; it stays open for the next ones.
type instance struct {
	key    instanceKey
	digest string
	ready  chan struct{} // closed when the instance is open, or err is set
	err    error
	box    *box.Box
	home   string
	proxy  bool
	apart  bool     // it has a network and processes of its own
	cache  string   // see addCaches, as commands see it; "" for none
	git    string   // the settings of git, likewise
	clean  []func() // functions to call when the instance ends
	gone   chan struct{}
	ending sync.Once
	dying  atomic.Bool

	// Guarded by Commands.mu:
	busy    int // commands in it, and calls that are about to start one
	born    time.Time
	used    time.Time
	retired bool // it is closed to new commands, and ends with its last one
}

// An instanceKey identifies the instance that commands share. An instance for a
// single command has a number in private.
type instanceKey struct {
	owner   owner
	tier    string
	private uint64
}

// A plan holds all that opening an instance needs.
type plan struct {
	spec  sandbox.Spec
	home  string
	hosts []string
	asks  bool // about other hosts
	proxy bool
	cache string
	git   string
	clean []func()
}

// key returns the key of the instance for commands with this target.
func (c *Commands) key(p *target) instanceKey {
	return instanceKey{owner: ownerOf(p.caller), tier: p.site.Tier}
}

// plan returns the plan of an instance for a target. It computes the layout
// again, since a home directory may be valid for one instance only.
func (c *Commands) plan(p *target, roots ...sandbox.Root) plan {
	g := p.dirs.Directories
	for _, r := range roots {
		g.Roots = withRoot(slices.Clone(g.Roots), r.Path, r.Write)
	}
	p.layout = c.layout(p.launcher, g)
	return plan{
		spec: sandbox.Spec{
			ID:      strings.ToLower(rand.Text()),
			Owner:   p.caller.Principal(),
			Session: p.caller.Session,
			Binds:   p.layout.Binds,
			Home:    p.layout.Home,
			Hidden:  p.dirs.Hidden,
			Locked:  p.dirs.Locked,
			Open:    !p.site.Isolated,
			Limits:  c.o.Limits,
			Require: p.policy.Require,
		},
		home:  home(p),
		asks:  true,
		proxy: p.site.Isolated && p.site.Network,
	}
}

// warmHome returns the home directory of the open instance for a target.
func (c *Commands) warmHome(p *target) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := c.warm[c.key(p)]; n != nil && n.isOpen() {
		return n.home
	}
	return home(p)
}

// digest returns a value that changes when an open instance no longer fits the target.
func (p *target) digest() (string, error) {
	return digestOf([]any{p.dirs.digest, p.extra, p.policy.Require, p.site.Network})
}

// take returns an open instance and counts the caller as one of its commands,
// until leave. If several callers wait for an instance, it is opened once.
func (c *Commands) take(ctx context.Context, p *target) (*instance, error) {
	digest, err := p.digest()
	if err != nil {
		return nil, err
	}
	for range 2 { // retry once if the instance was lost before the call
		instance, err := c.enter(p, digest, c.leaves(ctx, p))
		if err != nil {
			return nil, err
		}
		if err := c.await(ctx, instance); err != nil {
			return nil, err
		}
		if !instance.lost() {
			return instance, nil
		}
		c.leave(instance, true)
	}
	return nil, tool.Errorf(tool.Unavailable, "the sandbox ends immediately after its start").
		Try("try again later; the operator finds the cause in the log")
}

// await waits until an instance is open.
func (c *Commands) await(ctx context.Context, instance *instance) error {
	select {
	case <-instance.ready:
		if instance.err != nil {
			c.leave(instance, true)
			return instance.err
		}
		return nil
	case <-ctx.Done():
		c.leave(instance, false)
		return context.Cause(ctx)
	}
}

// leaves reports whether the open instance for a target is on a machine that is being drained.
func (c *Commands) leaves(ctx context.Context, p *target) bool {
	c.mu.Lock()
	n := c.warm[c.key(p)]
	c.mu.Unlock()
	return n != nil && n.isOpen() && n.box.Host() != "" && c.o.Leaving != nil && c.o.Leaving(ctx, n.box.Host())
}

// enter returns the instance for a target. It starts to open one if there is none, or the open one leaves.
func (c *Commands) enter(p *target, digest string, leaves bool) (*instance, error) {
	key := c.key(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed()
	}
	known := c.warm[key]
	if known != nil && (leaves && known.isOpen() || known.digest != digest || known.lost() || time.Since(known.born) > c.o.Age) {
		c.retire(known)
		known = nil
	}
	if known == nil {
		if err := c.makeRoom(key.owner.account); err != nil {
			return nil, err
		}
		known = c.newInstance(key, digest)
		c.warm[key] = known
		c.working.Go(func() {
			pl := c.plan(p)
			c.addCaches(p, &pl)
			c.open(known, p, pl)
		})
	}
	known.busy++
	return known, nil
}

// newInstance returns an instance that is not open yet. c.mu is held.
func (c *Commands) newInstance(key instanceKey, digest string) *instance {
	now := time.Now()
	n := &instance{
		key: key, digest: digest, born: now, used: now,
		ready: make(chan struct{}), gone: make(chan struct{}),
	}
	c.instances[n] = true
	c.arm()
	return n
}

// makeRoom checks that an account may have another busy instance, and ends the instance
// that has been idle longest if the maximum is reached. c.mu is held.
func (c *Commands) makeRoom(account string) error {
	var idle *instance
	living, busy, own := 0, 0, 0
	for n := range c.instances {
		if !n.dying.Load() {
			living++
			if n.busy > 0 {
				busy++
				if n.key.owner.account == account {
					own++
				}
			}
		}
		if n.busy == 0 && !n.retired && (idle == nil || n.used.Before(idle.used)) {
			idle = n
		}
	}
	if !slots.Free(own, busy, c.o.Boxes) {
		err := tool.Errorf(tool.Busy, "all %d sandboxes of this server are in use", c.o.Boxes)
		if busy < c.o.Boxes {
			err = tool.Errorf(tool.Busy, "your commands use %d of the %d sandboxes of this server; others get the rest",
				own, c.o.Boxes)
		}
		return err.Try("wait for commands to end, or end some with process kill")
	}
	if living >= c.o.Boxes && idle != nil {
		c.retire(idle)
	}
	return nil
}

// open starts the sandbox of an instance. It is not cancelled with the call that
// requested it, since other calls may wait for it too.
func (c *Commands) open(n *instance, p *target, pl plan) {
	defer close(n.ready)
	ctx, cancel := context.WithTimeout(tool.With(c.ctx, &tool.Running{Caller: p.caller}), launchLimit)
	defer cancel()
	n.home, n.proxy, n.cache, n.git, n.clean = pl.home, pl.proxy, pl.cache, pl.git, pl.clean
	if pl.proxy {
		socket, stop, err := c.o.Proxy(ctx, p.caller, pl.hosts, pl.asks)
		if err != nil {
			n.err = c.openError(p, err)
			return
		}
		pl.spec.Proxy = socket
		n.clean = append(n.clean, stop)
	}
	var err error
	if n.box, err = box.Launch(ctx, p.launcher, pl.spec); err != nil {
		n.err = c.openError(p, err)
		return
	}
	holds := n.box.Guarantees()
	n.apart = p.site.Isolated && slices.Contains(holds, sandbox.Network) && slices.Contains(holds, sandbox.Processes)
}

// openError returns the error for the model if a sandbox does not start.
func (c *Commands) openError(p *target, err error) error {
	c.o.Log.Warn("a sandbox did not start", "tier", p.site.Tier, "owner", p.caller.Principal(), "err", err)
	var known *tool.Error
	if errors.As(err, &known) {
		return known
	}
	return tool.Errorf(tool.Unavailable, "the %s sandbox did not start", p.site.Tier).
		Try("try again; if the error persists, the operator finds the cause in the log and with mcp-tools doctor").
		Because(fmt.Errorf("starting the %s sandbox: %w", p.site.Tier, err))
}

// lost reports whether the sandbox of the instance has ended.
func (n *instance) lost() bool { return n.isReady() && !n.isOpen() }

func (n *instance) isOpen() bool {
	return n.isReady() && n.box != nil && !n.dying.Load() && n.box.Err() == nil
}

// isReady reports whether the attempt to open the instance has finished.
func (n *instance) isReady() bool {
	select {
	case <-n.ready:
		return true
	default:
		return false
	}
}

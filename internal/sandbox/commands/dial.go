package commands

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// startUp is how long after its start a command may begin to listen.
	startUp = 10 * time.Second
	// dialAgain is the time between two attempts to connect to a command that starts.
	dialAgain = 50 * time.Millisecond
)

// Dial connects to a port that a command of the caller in ctx listens on, in the sandbox
// of that command. It never connects to a port of this machine or of another caller, and
// not to programs with credentials. While a command of the caller starts, Dial waits until
// it listens. ctx bounds the start only.
func (c *Commands) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	caller := tool.CallerFrom(ctx)
	if caller == (tool.Caller{}) {
		return nil, tool.Errorf(tool.Refused, "the connection has no caller").Try("call it as a tool")
	}
	if c.o.Mode(caller).Mode == Host {
		return nil, tool.Errorf(tool.Refused, "localhost:%d of this server is not reachable: commands run without a "+
			"sandbox", port).Try("use curl in exec; the operator can allow it with web.private: [\"localhost:%d\"]", port)
	}
	for {
		starts := c.starts(ownerOf(caller)) // before the attempt: it may come too early
		conn, err := c.dialOwner(ctx, ownerOf(caller), port)
		if !errors.Is(err, box.ErrNoServer) || !starts {
			return conn, err
		}
		select {
		case <-time.After(dialAgain):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// dialOwner tries each sandbox of an owner once.
func (c *Commands) dialOwner(ctx context.Context, who owner, port uint16) (net.Conn, error) {
	for _, n := range c.instancesOf(who) {
		conn, err := n.box.Dial(ctx, port)
		switch {
		case err == nil:
			return conn, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !errors.Is(err, box.ErrNoServer) && !errors.Is(err, box.ErrLost):
			return nil, tool.Errorf(tool.Unavailable, "port %d of this session cannot be reached", port).
				Try("try again").Because(err)
		}
	}
	return nil, tool.Errorf(tool.NotFound, "nothing in this session listens on port %d", port).
		Try("start a server with exec background=true").Because(box.ErrNoServer)
}

// starts reports whether a command of an owner runs that began a short time ago.
func (c *Commands) starts(who owner) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := range c.running {
		if p.owner == who && !p.private && time.Since(p.status.Started) < startUp {
			return true
		}
	}
	return false
}

// instancesOf returns the open sandboxes that the commands of an owner share, the newest
// first: a command in the background may run in a sandbox that accepts no others.
func (c *Commands) instancesOf(who owner) []*instance {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*instance
	for n := range c.instances {
		if n.key.owner == who && n.key.private == 0 && n.isOpen() && n.apart {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b *instance) int { return cmp.Compare(b.born.UnixNano(), a.born.UnixNano()) })
	return all
}

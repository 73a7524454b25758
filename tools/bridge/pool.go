package bridge

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

const (
	maxConnections = 20
	maxIdle        = 20 * time.Minute
	firstBackOff   = time.Second
	maxBackOff     = 5 * time.Minute
	dialLimit      = 2 * time.Minute
	maxAttempts    = 3   // connections that one call opens
	maxReason      = 600 // bytes of the reason why a server cannot be reached
)

// A pool holds the connections to servers. Callers whose settings for a server are equal share one.
type pool struct {
	dial func(ctx context.Context, server string, s Server, changed func()) (*upstream.Conn, error)
	idle time.Duration
	max  int

	mu     sync.Mutex
	closed bool
	byKey  map[poolKey]*entry
	tasks  sync.WaitGroup
	life   context.Context
	stop   context.CancelFunc
}

type poolKey struct{ server, identity string }

// An entry is the connection of one identity to one server, or how the last attempt to open it failed.
type entry struct {
	key      poolKey
	conn     *upstream.Conn
	opening  chan struct{} // closed when the attempt has ended; nil if there is none
	busy     int
	used     time.Time
	unused   *time.Timer // closes the connection when it was idle for long
	failures int
	retry    time.Time // when the next attempt may begin
	reason   error     // why the last attempt failed
}

func newPool(dial func(context.Context, string, Server, func()) (*upstream.Conn, error)) *pool {
	p := &pool{dial: dial, idle: maxIdle, max: maxConnections, byKey: make(map[poolKey]*entry)}
	p.life, p.stop = context.WithCancel(context.Background())
	return p
}

// take returns a connection, and a function to be called after its use. It opens one if there is none.
// changed is called when the server's lists have changed, as long as the connection lasts.
func (p *pool) take(ctx context.Context, key poolKey, s Server, changed func()) (*upstream.Conn, func(), error) {
	for attempt := 0; ; attempt++ {
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return nil, nil, tool.Errorf(tool.Unavailable, "the server is ending").Try("try again later")
		}
		e := p.byKey[key]
		if e == nil {
			if err := p.makeRoom(); err != nil {
				p.mu.Unlock()
				return nil, nil, err
			}
			e = &entry{key: key, used: time.Now()}
			p.byKey[key] = e
		}
		if e.conn != nil && e.conn.Err() == nil {
			e.busy++
			e.unused.Stop()
			p.mu.Unlock()
			return e.conn, func() { p.release(e) }, nil
		}
		if wait := time.Until(e.retry); wait > 0 && e.opening == nil {
			err := e.reason
			p.mu.Unlock()
			if errors.Is(err, upstream.ErrLogin) {
				return nil, nil, needsLogin(key.server)
			}
			return nil, nil, unreachable(key.server, err).Try("try again in %s",
				max(wait.Round(time.Second), time.Second))
		}
		if e.opening == nil && attempt == maxAttempts {
			p.mu.Unlock()
			return nil, nil, unreachable(key.server, errors.New("it ends right after its start")).Try("try again later")
		}
		if e.opening == nil {
			p.open(e, s, changed)
		}
		opening := e.opening
		p.mu.Unlock()
		select {
		case <-opening:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
		p.mu.Lock()
		failed := e.conn == nil && e.reason != nil
		reason := e.reason
		p.mu.Unlock()
		if failed {
			if errors.Is(reason, upstream.ErrLogin) {
				return nil, nil, needsLogin(key.server)
			}
			return nil, nil, unreachable(key.server, reason).Try("try again later, or do it another way")
		}
	}
}

// open opens a connection in the background, in place of the one that was lost. p.mu is held.
func (p *pool) open(e *entry, s Server, changed func()) {
	old, opening := e.conn, make(chan struct{})
	e.conn, e.opening, e.reason = nil, opening, nil
	p.tasks.Go(func() {
		ctx, cancel := context.WithTimeout(p.life, dialLimit)
		defer cancel()
		if old != nil {
			_ = old.Close() // it is lost: its slot is freed
		}
		conn, err := p.dial(ctx, e.key.server, s, changed)
		p.mu.Lock()
		defer p.mu.Unlock()
		defer close(opening)
		e.opening, e.used = nil, time.Now()
		if err == nil && p.closed {
			_ = conn.Close() // nobody waits for it
			err = errors.New("the server is ending")
		}
		if err != nil {
			e.reason = err
			e.retry = time.Now().Add(min(firstBackOff<<min(e.failures, 20), maxBackOff))
			e.failures++
			return
		}
		e.conn, e.failures, e.retry = conn, 0, time.Time{}
		e.unused = time.AfterFunc(p.idle, func() { p.expire(e, conn) })
	})
}

func (p *pool) release(e *entry) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e.busy--
	e.used = time.Now()
	if e.busy == 0 && e.conn != nil {
		e.unused.Reset(p.idle)
	}
}

// expire closes a connection that is still idle.
func (p *pool) expire(e *entry, conn *upstream.Conn) {
	p.mu.Lock()
	if p.closed || e.busy > 0 || e.conn != conn {
		p.mu.Unlock()
		return
	}
	p.drop(e)
	p.mu.Unlock()
}

// drop removes an entry and closes its connection in the background. p.mu is held.
func (p *pool) drop(e *entry) {
	delete(p.byKey, e.key)
	conn := e.conn
	if conn == nil {
		return
	}
	e.unused.Stop()
	p.tasks.Go(func() { _ = conn.Close() }) // the rest ends with its sandbox
}

// makeRoom removes the entry that was idle for longest if there are too many. p.mu is held.
func (p *pool) makeRoom() error {
	if len(p.byKey) < p.max {
		return nil
	}
	var idlest *entry
	for _, e := range p.byKey {
		if e.busy == 0 && e.opening == nil && (idlest == nil || e.used.Before(idlest.used)) {
			idlest = e
		}
	}
	if idlest == nil {
		return tool.Errorf(tool.Busy, "%d connections to MCP servers are in use", len(p.byKey)).Try("try again later")
	}
	p.drop(idlest)
	return nil
}

// forget closes the connections to a server, such as one whose settings have changed.
func (p *pool) forget(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, e := range p.byKey {
		if key.server == server && e.opening == nil {
			p.drop(e)
		}
	}
}

// size returns how many connections are open.
func (p *pool) size() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.byKey {
		if e.conn != nil && e.conn.Err() == nil {
			n++
		}
	}
	return n
}

// close closes all connections and waits.
func (p *pool) close() {
	p.mu.Lock()
	p.closed = true
	for _, e := range p.byKey {
		if e.opening == nil {
			p.drop(e)
		}
	}
	p.mu.Unlock()
	p.stop()
	p.tasks.Wait()
}

func unreachable(server string, why error) *tool.Error {
	reason := fmt.Sprint(why)
	if inner := (*tool.Error)(nil); errors.As(why, &inner) { // one kind and one next step are enough
		reason = strings.Replace(reason, inner.Error(), inner.What, 1)
	}
	return tool.Errorf(tool.Unavailable, "the MCP server %q cannot be reached: %s", server,
		text.Clip(cleaned(reason, maxReason), maxReason)).Because(why)
}

func needsLogin(server string) *tool.Error {
	return tool.Errorf(tool.Unavailable, "the MCP server %q wants a login", server).
		Try("ask the operator to run mcp-tools bridge login %s, or to log in on the page bridge of the console", server)
}

package server

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A gate bounds how many calls run at once, in all and for each session. Who
// must wait waits in the lane of its session; lanes take turns, so that one
// session with a long queue does not keep the others out.
type gate struct {
	mu      sync.Mutex
	limits  Limits
	running int
	queued  int
	lanes   map[string]*lane
	turn    []*lane // lanes with somebody waiting, the next one first
	watcher Watcher
}

type lane struct {
	session string
	running int
	waiting []chan struct{}
}

func newGate(l Limits, w Watcher) *gate {
	return &gate{limits: l, lanes: make(map[string]*lane), watcher: w}
}

func (g *gate) resize(l Limits) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limits = l
	g.admit()
}

// enter waits for a slot. leave gives it back and must be called once.
func (g *gate) enter(ctx context.Context, session string) (leave func(), err error) {
	g.mu.Lock()
	l, ok := g.lanes[session]
	if !ok {
		l = &lane{session: session}
		g.lanes[session] = l
	}
	if len(l.waiting) == 0 && l.running < g.limits.Running && g.running < g.limits.TotalRunning {
		g.start(l)
		g.mu.Unlock()
		return func() { g.leave(l) }, nil
	}
	if len(l.waiting) >= g.limits.Queued {
		running, queued := l.running, len(l.waiting)
		g.mu.Unlock()
		g.watcher.Limited("queue")
		return nil, tool.Errorf(tool.Busy, "%d calls are running and %d are waiting", running, queued).
			Try("wait for some of them to finish, then call again")
	}
	ready := make(chan struct{})
	l.waiting = append(l.waiting, ready)
	if len(l.waiting) == 1 {
		g.turn = append(g.turn, l)
	}
	g.queued++
	g.watcher.Queued(g.queued)
	g.mu.Unlock()
	select {
	case <-ready:
		return func() { g.leave(l) }, nil
	case <-ctx.Done():
		g.abandon(l, ready)
		return nil, context.Cause(ctx)
	}
}

func (g *gate) start(l *lane) {
	l.running++
	g.running++
	g.watcher.Running(g.running)
}

func (g *gate) leave(l *lane) {
	g.mu.Lock()
	defer g.mu.Unlock()
	l.running--
	g.running--
	g.watcher.Running(g.running)
	g.forget(l)
	g.admit()
}

// abandon takes a waiter out of its lane, or gives its slot back when it was
// let in at the very moment it gave up.
func (g *gate) abandon(l *lane, ready chan struct{}) {
	g.mu.Lock()
	i := slices.Index(l.waiting, ready)
	if i < 0 {
		g.mu.Unlock()
		g.leave(l)
		return
	}
	defer g.mu.Unlock()
	l.waiting = slices.Delete(l.waiting, i, i+1)
	g.queued--
	g.watcher.Queued(g.queued)
	if len(l.waiting) == 0 {
		g.turn = slices.DeleteFunc(g.turn, func(other *lane) bool { return other == l })
	}
	g.forget(l)
}

// admit lets in whoever may run now, one from each lane in turn.
func (g *gate) admit() {
	for skipped := 0; g.running < g.limits.TotalRunning && skipped < len(g.turn); {
		l := g.turn[0]
		g.turn = g.turn[1:]
		if l.running >= g.limits.Running {
			g.turn = append(g.turn, l)
			skipped++
			continue
		}
		skipped = 0
		ready := l.waiting[0]
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			g.turn = append(g.turn, l)
		}
		g.queued--
		g.watcher.Queued(g.queued)
		g.start(l)
		close(ready)
	}
}

// forget drops a lane that nobody uses, so that sessions leave nothing behind.
func (g *gate) forget(l *lane) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(g.lanes, l.session)
	}
}

package server

import (
	"context"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A queue bounds how many calls run at once, in all and for each session. Calls
// over the limit wait in the line of their session. Lines take turns, so that a
// session with a long line does not keep the others from running.
type queue struct {
	mu       sync.Mutex
	limits   Limits
	running  int
	waiting  int
	lines    map[string]*line
	turn     []*line // lines with waiting calls, the next one first
	observer Observer
}

// A line holds the calls of one session.
type line struct {
	session string
	running int
	waiting []chan struct{}
}

func newQueue(l Limits, o Observer) *queue {
	return &queue{limits: l, lines: make(map[string]*line), observer: o}
}

// resize changes the limits. Calls that are running are not stopped.
func (q *queue) resize(l Limits) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.limits = l
	q.admit()
}

// enter waits for a slot. release returns the slot and must be called once.
func (q *queue) enter(ctx context.Context, session string) (release func(), err error) {
	q.mu.Lock()
	l, ok := q.lines[session]
	if !ok {
		l = &line{session: session}
		q.lines[session] = l
	}
	if len(l.waiting) == 0 && l.running < q.limits.Running && q.running < q.limits.TotalRunning {
		q.start(l)
		q.mu.Unlock()
		return func() { q.release(l) }, nil
	}
	if len(l.waiting) >= q.limits.Queued {
		running, waiting := l.running, len(l.waiting)
		q.mu.Unlock()
		q.observer.Limited("queue")
		return nil, tool.Errorf(tool.Busy, "%d calls are running and %d are waiting", running, waiting).
			Try("wait for some of them to finish, then call again")
	}
	ready := make(chan struct{})
	l.waiting = append(l.waiting, ready)
	if len(l.waiting) == 1 {
		q.turn = append(q.turn, l)
	}
	q.waiting++
	q.observer.Queued(q.waiting)
	q.mu.Unlock()
	select {
	case <-ready:
		return func() { q.release(l) }, nil
	case <-ctx.Done():
		q.abandon(l, ready)
		return nil, context.Cause(ctx)
	}
}

func (q *queue) start(l *line) {
	l.running++
	q.running++
	q.observer.Running(q.running)
}

func (q *queue) release(l *line) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.running--
	q.running--
	q.observer.Running(q.running)
	q.forget(l)
	q.admit()
}

// abandon removes a waiting call from its line, or returns its slot if it was
// admitted at the same moment.
func (q *queue) abandon(l *line, ready chan struct{}) {
	q.mu.Lock()
	i := slices.Index(l.waiting, ready)
	if i < 0 {
		q.mu.Unlock()
		q.release(l)
		return
	}
	defer q.mu.Unlock()
	l.waiting = slices.Delete(l.waiting, i, i+1)
	q.waiting--
	q.observer.Queued(q.waiting)
	if len(l.waiting) == 0 {
		q.turn = slices.DeleteFunc(q.turn, func(other *line) bool { return other == l })
	}
	q.forget(l)
}

// admit starts as many waiting calls as the limits allow, one from each line in
// turn.
func (q *queue) admit() {
	for skipped := 0; q.running < q.limits.TotalRunning && skipped < len(q.turn); {
		l := q.turn[0]
		q.turn = q.turn[1:]
		if l.running >= q.limits.Running {
			q.turn = append(q.turn, l)
			skipped++
			continue
		}
		skipped = 0
		ready := l.waiting[0]
		l.waiting = l.waiting[1:]
		if len(l.waiting) > 0 {
			q.turn = append(q.turn, l)
		}
		q.waiting--
		q.observer.Queued(q.waiting)
		q.start(l)
		close(ready)
	}
}

// forget drops a line without calls, so that sessions leave nothing behind.
func (q *queue) forget(l *line) {
	if l.running == 0 && len(l.waiting) == 0 {
		delete(q.lines, l.session)
	}
}

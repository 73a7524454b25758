package server

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
)

// A conn is a connection with ordered messages from one session and unordered responses to it:
// stdio, and the old HTTP+SSE.
type conn struct {
	session *session
	out     func(msg []byte) error // may return before the message is written
	flush   func() error           // waits until it is; nil if out does
	calls   context.Context        // of everything that runs for the client
	stop    context.CancelCauseFunc
	slots   chan struct{}
	jobs    chan func() // to a worker that waits for one

	mu      sync.Mutex
	closing bool
	running sync.WaitGroup
	counted sync.Once // out of the open conversations
}

// maxWaiting is the number of requests that may run beside the queue's, such as pings. The
// response to more is that the server is busy.
const maxWaiting = 64

// codeBusy is the JSON-RPC code for requests that were refused unread.
const codeBusy = -32000

// newConn opens a session. The calls of the client may outlive ctx by the grace
// time of drain.
func (s *Server) newConn(ctx context.Context, a Access, out func([]byte) error) *conn {
	calls, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	limits := s.settings().Limits
	c := &conn{
		session: s.newSession(a), out: out, calls: calls, stop: stop,
		slots: make(chan struct{}, limits.Running+limits.Queued+maxWaiting),
		jobs:  make(chan func()),
	}
	c.session.persistent = true
	c.session.openPush(out)
	s.addSession(c.session)
	s.countSessions(1)
	return c
}

// receive handles one message with access a. Notifications and responses are handled at once
// and in order; requests run concurrently.
func (c *conn) receive(raw []byte, a *Access) {
	m, broken := jsonrpc.Parse(raw)
	switch {
	case broken != nil:
		c.send(c.session.server.refusal(m.ID, broken))
	case m.IsResponse || m.ID == nil:
		c.session.notice(c.calls, m)
	default:
		c.begin(m, a)
	}
}

// begin registers a request before the next message is read, so that a cancellation
// that follows finds it.
func (c *conn) begin(m *jsonrpc.Message, a *Access) {
	ctx, flight, refused := c.session.begin(c.calls, m.ID)
	if refused != nil {
		c.send(c.session.server.refusal(m.ID, refused))
		return
	}
	carry := func() delivery { return c.session.respond(ctx, flight, m, *a, c.out) }
	if m.Method == string(mcp.MethodInitialize) { // the next message depends on it
		c.deliver(carry())
		return
	}
	if !c.spawn(m, carry) {
		c.session.end(m.ID, flight)
	}
}

// spawn runs one request concurrently, or refuses it. It reports whether it runs.
func (c *conn) spawn(m *jsonrpc.Message, work func() delivery) bool {
	if refused := c.slot(); refused != nil {
		c.send(c.session.server.refusal(m.ID, refused))
		return false
	}
	job := func() {
		defer c.running.Done()
		defer func() { <-c.slots }()
		c.deliver(work())
	}
	select {
	case c.jobs <- job:
	default:
		go c.worker(job)
	}
	return true
}

// worker runs jobs until the session ends. Workers are kept, because a new
// goroutine would have to grow its stack for every call.
func (c *conn) worker(job func()) {
	for {
		job()
		select {
		case job = <-c.jobs:
		case <-c.session.ended:
			return
		}
	}
}

// slot counts one more request as running.
func (c *conn) slot() *jsonrpc.Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return jsonrpc.Errorf(codeBusy, "the server is shutting down")
	}
	select {
	case c.slots <- struct{}{}:
		c.running.Add(1)
		return nil
	default:
		c.session.server.Observer.Limited("connection")
		return jsonrpc.Errorf(codeBusy,
			"busy: %d requests are waiting; wait for some of them to finish, then try again", cap(c.slots))
	}
}

func (c *conn) send(msg []byte) (written bool) {
	err := c.out(msg)
	if err != nil {
		c.session.server.log.Debug("a message could not be written", "err", err)
	}
	return err == nil
}

// deliver sends the response to a request.
func (c *conn) deliver(r delivery) {
	if r.msg == nil {
		return
	}
	written := c.send(r.msg)
	if written && r.sent != nil && c.flush != nil { // until then a kill loses the response
		written = c.flush() == nil
	}
	r.done(written)
}

var errShutdown = fmt.Errorf("the server is shutting down: %w", context.Canceled)

// drain ends the session: calls in flight may finish within the grace time, then
// they are stopped. Open questions end at once.
func (c *conn) drain(grace time.Duration) {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	defer c.counted.Do(func() { c.session.server.countSessions(-1) })
	defer c.session.close()
	defer c.session.server.removeSession(c.session)
	defer c.stop(errShutdown)
	c.session.cancelQuestions()

	finished := make(chan struct{})
	go func() {
		c.running.Wait()
		close(finished)
	}()
	if within(finished, grace) {
		return
	}
	c.stop(errShutdown)
	if !within(finished, lastGrace) {
		c.session.server.log.Warn("some calls did not stop when they were cancelled")
	}
}

// lastGrace is how long a call may take to end after it was cancelled.
const lastGrace = 2 * time.Second

func within(done <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

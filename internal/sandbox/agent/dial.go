package agent

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

const (
	// maxConns is the maximum number of concurrent connections of the server.
	maxConns = 64
	// dialTimeout is the timeout of a connection to a port of the sandbox.
	dialTimeout = 5 * time.Second
)

// A connection leads from the server to a port that a command listens on, or to the copies of files. Only the
// agent can make it, because the sandbox has a network of its own. Or it leads from a command to the proxy: see lead.
type connection struct {
	agent *agent
	id    uint32
	port  uint16
	files bool

	mu      sync.Mutex
	changed sync.Cond
	queue   [][]byte // to write
	queued  int      // bytes in queue and bytes being written
	ended   bool     // nothing more is to be written
	unread  int      // bytes that were sent to the server and not acknowledged
	closed  bool
	conn    net.Conn // nil until it is connected
}

// connect starts to connect. It does not wait.
func (a *agent) connect(f wire.Frame) error {
	var body wire.DialBody
	if err := f.Decode(&body); err != nil {
		return err
	}
	n := &connection{agent: a, id: f.ID, port: body.Port, files: body.Files}
	n.changed.L = &n.mu
	a.mu.Lock()
	full := len(a.conns) >= maxConns+maxTunnels
	taken := a.conns[f.ID] != nil || a.commands[f.ID] != nil
	if !full && !taken {
		a.conns[f.ID] = n
	}
	a.mu.Unlock()
	switch {
	case taken:
		return fmt.Errorf("connection %d was started twice", f.ID)
	case full:
		a.sent(a.out.SendJSON(wire.Refused, f.ID, wire.RefusedBody{Error: "too many connections are open"}))
	default:
		go n.run()
	}
	return nil
}

func (a *agent) connection(id uint32) *connection {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conns[id]
}

// run connects, copies in both directions, and reports the end.
func (n *connection) run() {
	defer n.forget()
	conn, err := n.dial()
	if err != nil {
		n.forget() // the server may use the number again
		n.agent.sent(n.agent.out.SendJSON(wire.Refused, n.id,
			wire.RefusedBody{NoServer: errors.Is(err, syscall.ECONNREFUSED), Error: err.Error()}))
		return
	}
	n.mu.Lock()
	n.conn = conn
	closed := n.closed
	n.mu.Unlock()
	n.agent.sent(n.agent.out.SendJSON(wire.Started, n.id, wire.StartedBody{}))
	if closed {
		conn.Close()
	}
	written := n.writing()
	n.read()
	n.close()
	<-written
	n.agent.sent(n.agent.out.SendJSON(wire.Exited, n.id, wire.ExitBody{}))
	n.gone()
}

func (n *connection) dial() (net.Conn, error) {
	if !n.files {
		return dialLoopback(n.port)
	}
	ours, theirs := net.Pipe()
	go mirror.Serve(theirs)
	return ours, nil
}

// writing starts to write the bytes of the server. The channel is closed at the end of it.
func (n *connection) writing() <-chan struct{} {
	written := make(chan struct{})
	go func() {
		defer close(written)
		n.write()
	}()
	return written
}

// gone reports that the connection has ended.
func (n *connection) gone() {
	n.forget()
	n.agent.sent(n.agent.out.Send(wire.Gone, n.id, nil))
}

// lead leads a connection of a command to the proxy of the server.
func (a *agent) lead(conn net.Conn) {
	n := &connection{agent: a, conn: conn}
	n.changed.L = &n.mu
	a.mu.Lock()
	a.led = (a.led + 1) &^ wire.FromAgent
	n.id = a.led | wire.FromAgent
	a.conns[n.id] = n
	a.mu.Unlock()
	a.sent(a.out.Send(wire.Connect, n.id, nil))
	written := n.writing()
	n.read()
	a.sent(a.out.SendJSON(wire.Exited, n.id, wire.ExitBody{}))
	<-written
	n.close()
	n.gone()
}

// dialLoopback connects to a port of this network namespace. Servers listen on the
// address of either family for the name localhost.
func dialLoopback(port uint16) (net.Conn, error) {
	var first error
	for _, host := range []string{"127.0.0.1", "::1"} {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(host, strconv.Itoa(int(port))), dialTimeout)
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

func (n *connection) forget() {
	n.agent.mu.Lock()
	defer n.agent.mu.Unlock()
	if n.agent.conns[n.id] == n {
		delete(n.agent.conns, n.id)
	}
}

// handle handles a frame for the connection. It does not wait.
func (n *connection) handle(f wire.Frame) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.changed.Broadcast()
	switch f.Kind {
	case wire.Input:
		if n.queued += len(f.Body); n.queued > wire.Window {
			return errors.New("more input than the window")
		}
		n.queue = append(n.queue, append([]byte(nil), f.Body...))
	case wire.InputEnd:
		n.ended = true
	case wire.Read:
		if len(f.Body) != 4 {
			return errors.New("a frame of the wrong length")
		}
		n.unread -= int(binary.BigEndian.Uint32(f.Body))
	case wire.Kill, wire.Drop:
		n.closed = true
		if n.conn != nil {
			n.conn.Close()
		}
	default:
		return fmt.Errorf("a frame of kind %d", f.Kind)
	}
	return nil
}

func (n *connection) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.conn.Close()
	n.changed.Broadcast()
}

// write writes the bytes of the server.
func (n *connection) write() {
	for {
		n.mu.Lock()
		for len(n.queue) == 0 && !n.ended && !n.closed {
			n.changed.Wait()
		}
		if n.closed || len(n.queue) == 0 {
			closed := n.closed
			n.mu.Unlock()
			if half, ok := n.conn.(interface{ CloseWrite() error }); ok && !closed {
				_ = half.CloseWrite() // an error means that the other side has closed it
			}
			return
		}
		data := n.queue[0]
		n.queue = n.queue[1:]
		n.mu.Unlock()
		if _, err := n.conn.Write(data); err != nil {
			n.conn.Close() // read ends too
			return
		}
		n.mu.Lock()
		n.queued -= len(data)
		n.mu.Unlock()
		n.agent.sent(n.agent.out.Send(wire.Taken, n.id, binary.BigEndian.AppendUint32(nil, uint32(len(data)))))
	}
}

// read sends the bytes that arrive, as far as the server reads it.
func (n *connection) read() {
	buf := n.agent.bufs.Get().(*[]byte)
	defer n.agent.bufs.Put(buf)
	for {
		n.mu.Lock()
		for n.unread+wire.MaxData > wire.Window && !n.closed {
			n.changed.Wait()
		}
		closed := n.closed
		n.mu.Unlock()
		if closed {
			return
		}
		got, err := n.conn.Read((*buf)[:wire.MaxData])
		if got > 0 {
			n.mu.Lock()
			n.unread += got
			n.mu.Unlock()
			n.agent.sent(n.agent.out.Send(wire.Stdout, n.id, (*buf)[:got]))
		}
		if err != nil {
			return
		}
	}
}

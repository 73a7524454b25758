package box

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"net"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// Dial connects to a port that a command in the box listens on. If none does, the error is
// an ErrNoServer. The connection has no address, and ends with the box. ctx bounds
// the start only.
func (b *Box) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	return b.dial(ctx, wire.DialBody{Port: port})
}

func (b *Box) dial(ctx context.Context, to wire.DialBody) (net.Conn, error) {
	text, err := json.Marshal(to)
	if err != nil {
		return nil, err
	}
	ours, theirs := net.Pipe()
	s := &socket{to: ours, more: make(chan struct{}, 1)}
	c, err := b.begin(ctx, wire.Dial, text, s)
	if err != nil {
		return nil, err
	}
	go s.read(c)
	go s.write(c)
	return theirs, nil
}

// maxLed is the maximum number of connections of commands to the proxy.
const maxLed = 80

// lead begins a connection of a command to the proxy.
func (b *Box) lead(f wire.Frame) error {
	if f.ID&wire.FromAgent == 0 || b.carried.Proxy == "" {
		return errProtocol
	}
	s := &socket{proxy: true, more: make(chan struct{}, 1)}
	c := &Child{box: b, id: f.ID, stage: running, sink: s, changed: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for id := range b.children {
		if id&wire.FromAgent != 0 {
			n++
		}
	}
	if n >= maxLed || b.children[f.ID] != nil {
		return errProtocol
	}
	b.children[f.ID] = c
	go func() {
		to, err := net.DialTimeout("unix", b.carried.Proxy, startTimeout)
		if err != nil {
			_ = c.Kill() // an error means that the box is lost
			return
		}
		s.to = to
		go s.read(c)
		s.write(c)
	}()
	return nil
}

// A socket copies between a connection and the pipe whose other end the caller of Dial has, or the proxy.
// It is the Sink of the connection.
type socket struct {
	to    net.Conn
	proxy bool
	more  chan struct{} // has an element when a field below has changed

	mu      sync.Mutex
	arrived []byte // not yet written to the pipe
	unread  int    // bytes that arrived and that the agent has not been told of as read
	written bool   // nothing more arrives
	ended   bool
}

// read sends the bytes of the caller.
func (s *socket) read(c *Child) {
	buf := make([]byte, wire.MaxData)
	for {
		n, err := s.to.Read(buf)
		if n > 0 {
			if c.Input(context.Background(), buf[:n]) != nil { // it ends with the connection
				break
			}
		}
		if err != nil && s.proxy {
			if err != io.EOF {
				_ = s.to.Close()
			}
			_ = c.EndInput() // the agent ends the connection when it has written everything
			return
		}
		if err != nil {
			break
		}
	}
	_ = s.to.Close()
	_ = c.Kill() // an error means that the box is lost
}

// write passes on the bytes that have arrived.
func (s *socket) write(c *Child) {
	for range s.more {
		s.mu.Lock()
		data, written, ended := s.arrived, s.written, s.ended
		s.arrived = nil
		s.mu.Unlock()
		if len(data) > 0 {
			if _, err := s.to.Write(data); err != nil && !s.proxy {
				return // read has seen it too
			}
			s.mu.Lock()
			s.unread -= len(data)
			s.mu.Unlock()
			_ = c.box.send(wire.Read, c.id, binary.BigEndian.AppendUint32(nil, uint32(len(data))))
		}
		if ended {
			_ = s.to.Close()
			return
		}
		if half, ok := s.to.(interface{ CloseWrite() error }); ok && written {
			_ = half.CloseWrite() // an error means that the proxy has closed it
		}
	}
}

func (s *socket) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Output keeps the bytes that have arrived. An agent that sends more than the window loses the connection.
func (s *socket) Output(_ sandbox.Stream, data []byte) {
	s.mu.Lock()
	if s.unread += len(data); s.unread > wire.Window {
		s.ended = true
	} else if !s.ended {
		s.arrived = append(s.arrived, data...)
	}
	s.mu.Unlock()
	s.wake()
}

// Skipped is not called: no output of a connection is skipped.
func (s *socket) Skipped(sandbox.Stream, int64) {}

// Exited records that a command writes no more.
func (s *socket) Exited(wire.ExitBody) {
	s.mu.Lock()
	s.written = true
	s.mu.Unlock()
	s.wake()
}

// Gone ends the connection after the bytes that have arrived.
func (s *socket) Gone(error) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wake()
}

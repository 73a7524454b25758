package box

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"net"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// Dial connects to a port that a command in the box listens on. If none does, the error is
// an ErrNoServer. The connection has no address, and ends with the box. ctx bounds
// the start only.
func (b *Box) Dial(ctx context.Context, port uint16) (net.Conn, error) {
	text, err := json.Marshal(wire.DialBody{Port: port})
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

// A socket copies between a connection and the pipe whose other end the caller of Dial has.
// It is the Sink of the connection.
type socket struct {
	to   net.Conn
	more chan struct{} // has an element when a field below has changed

	mu      sync.Mutex
	arrived []byte // not yet written to the pipe
	unread  int    // bytes that arrived and that the agent has not been told of as read
	ended   bool
}

// read sends what the caller writes.
func (s *socket) read(c *Child) {
	buf := make([]byte, wire.MaxData)
	for {
		n, err := s.to.Read(buf)
		if n > 0 {
			if c.Input(context.Background(), buf[:n]) != nil { // it ends with the connection
				break
			}
		}
		if err != nil {
			break
		}
	}
	_ = s.to.Close()
	_ = c.Kill() // an error means that the box is lost
}

// write passes on what has arrived.
func (s *socket) write(c *Child) {
	for range s.more {
		s.mu.Lock()
		data, ended := s.arrived, s.ended
		s.arrived = nil
		s.mu.Unlock()
		if len(data) > 0 {
			if _, err := s.to.Write(data); err != nil {
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
	}
}

func (s *socket) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Output keeps what has arrived. An agent that sends more than the window loses the
// connection.
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

// Exited has nothing to report.
func (s *socket) Exited(wire.ExitBody) {}

// Gone ends the connection after what has arrived.
func (s *socket) Gone(error) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	s.wake()
}

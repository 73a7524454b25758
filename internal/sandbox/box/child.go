package box

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// A Sink hears of one command. It is called from the one goroutine that reads
// what the agent says, in order, and may be before Start has returned; until it
// returns nothing else is heard from the box. It must not call Close of the box.
type Sink interface {
	// Output is what the command, or something that it has started, has
	// written. The bytes are good until it returns.
	Output(s sandbox.Stream, data []byte)
	// Exited says that the command itself has ended.
	Exited(e wire.ExitBody)
	// Gone is last: all that the command has started has ended too. An err
	// says that the sandbox was lost, maybe before Exited.
	Gone(err error)
}

// A stage is how far a command has come, as the agent tells it.
type stage int

const (
	asked stage = iota
	running
	exited
)

// A Child is a command in a box.
type Child struct {
	box    *Box
	id     uint32
	pid    int
	stage  stage      // for the listening goroutine only
	answer chan error // nil when it was started

	mu      sync.Mutex
	sink    Sink          // nil when nobody listens
	owed    int           // bytes of input that the agent has not taken
	changed chan struct{} // closed when owed is less, or it ended
	ended   bool
	input   sync.Mutex // keeps what one Input sends together
}

// Start starts a command and waits until it runs. The error is an ErrNoProgram,
// an ErrNoDir, an ErrLost or ctx's; then nothing runs, and s is not called any
// more.
func (b *Box) Start(ctx context.Context, body wire.StartBody, s Sink) (*Child, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if len(text) > wire.MaxBody {
		return nil, fmt.Errorf("it cannot be started: the command and its environment have %d bytes", len(text))
	}
	c, err := b.add(s)
	if err != nil {
		return nil, err
	}
	if err := b.send(wire.Start, c.id, text); err != nil {
		c.hush()
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answering, errors.New("the sandbox does not answer"))
	defer cancel()
	select {
	case err := <-c.answer:
		if err != nil {
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		c.hush()
		_ = b.send(wire.Kill, c.id, nil)
		_ = b.send(wire.Drop, c.id, nil)
		return nil, context.Cause(ctx)
	}
}

func (b *Box) add(s Sink) (*Child, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	for b.last++; b.children[b.last] != nil; b.last++ {
	}
	c := &Child{box: b, id: b.last, sink: s, answer: make(chan error, 1), changed: make(chan struct{})}
	b.children[c.id] = c
	return c, nil
}

// PID is the process number of the command, as it sees itself.
func (c *Child) PID() int { return c.pid }

// Input writes to the command's stdin. It waits while the command does not
// read, until ctx ends: then only a part may have been sent. When the command
// is gone it returns ErrEnded.
func (c *Child) Input(ctx context.Context, data []byte) error {
	c.input.Lock()
	defer c.input.Unlock()
	for len(data) > 0 {
		part := data[:min(len(data), wire.MaxData)]
		if err := c.reserve(ctx, len(part)); err != nil {
			return err
		}
		if err := c.box.send(wire.Input, c.id, part); err != nil {
			return err
		}
		data = data[len(part):]
	}
	return nil
}

// reserve waits until so many bytes may be sent.
func (c *Child) reserve(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		ended, changed := c.ended, c.changed
		fits := c.owed+n <= wire.Window
		if fits {
			c.owed += n
		}
		c.mu.Unlock()
		switch {
		case ended:
			return ErrEnded
		case fits:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// taken notes that the agent has taken input; false when that cannot be.
func (c *Child) taken(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.owed {
		return false
	}
	c.owed -= n
	close(c.changed)
	c.changed = make(chan struct{})
	return true
}

// endInput ends the waiting of Input.
func (c *Child) endInput() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// EndInput closes the command's stdin after what was written.
func (c *Child) EndInput() error { return c.box.send(wire.InputEnd, c.id, nil) }

// Kill ends the command and all that it has started. It does not wait: the Sink
// hears of the end.
func (c *Child) Kill() error { return c.box.send(wire.Kill, c.id, nil) }

// Resize tells the command's terminal its size.
func (c *Child) Resize(rows, cols uint16) error {
	body, err := json.Marshal(wire.Size{Rows: rows, Cols: cols})
	if err != nil {
		return err
	}
	return c.box.send(wire.Resize, c.id, body)
}

// Drop says that nobody wants to hear of the command any more. It runs on, and
// what it writes is thrown away. The Sink is not called after a call that may
// be under way.
func (c *Child) Drop() {
	c.hush()
	_ = c.box.send(wire.Drop, c.id, nil)
}

func (c *Child) hush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sink = nil
}

func (c *Child) listener() Sink {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sink
}

// lose tells whoever waits that the box was lost.
func (c *Child) lose(err error) {
	c.endInput()
	if c.stage == asked {
		c.answer <- err
		return
	}
	if s := c.listener(); s != nil {
		s.Gone(err)
	}
}

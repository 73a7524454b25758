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

// A Sink receives the events of one command. Its methods are called in order, from
// the goroutine that reads from the agent; they may be called before Start returns,
// and they block all other events of the box. They must not call Close of the box.
type Sink interface {
	// Output receives output of the command or its descendants. The bytes are
	// valid until it returns.
	Output(s sandbox.Stream, data []byte)
	// Skipped reports that n bytes of output will not arrive: they came before the
	// bytes of the next Output.
	Skipped(s sandbox.Stream, n int64)
	// Exited receives the exit status of the command itself.
	Exited(e wire.ExitBody)
	// Gone is the last call: all descendants have ended too. An err means that the
	// sandbox was lost, possibly before Exited.
	Gone(err error)
}

// A stage is the state of a command in the protocol.
type stage int

const (
	asked stage = iota
	running
	exited
)

// A Child is a command in a box, or a connection to one.
type Child struct {
	box    *Box
	id     uint32
	pid    int
	stage  stage      // only for the reading goroutine
	missed int64      // bytes of output that were skipped; likewise
	answer chan error // nil after a successful start

	mu      sync.Mutex
	sink    Sink          // nil after Drop
	unacked int           // bytes of input that the agent has not acknowledged
	changed chan struct{} // closed when unacked decreases, or the command has ended
	ended   bool
	input   sync.Mutex // keeps the data of one Input call together
}

// Start starts a command and waits until it runs. The error is an ErrNoProgram, an
// ErrNoDir, an ErrLost or the error of ctx; then nothing runs, and s is not called.
func (b *Box) Start(ctx context.Context, body wire.StartBody, s Sink) (*Child, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if len(text) > wire.MaxBody {
		return nil, fmt.Errorf("it cannot be started: the command and its environment have %d bytes", len(text))
	}
	if b.files != nil {
		if s, err = b.sendFiles(ctx, s); err != nil {
			return nil, err
		}
	}
	return b.begin(ctx, wire.Start, text, s)
}

var errSilent = errors.New("the sandbox does not answer")

// begin sends a request to start something, and waits for the answer.
func (b *Box) begin(ctx context.Context, k wire.Kind, body []byte, s Sink) (*Child, error) {
	c, err := b.add(s)
	if err != nil {
		return nil, err
	}
	if err := b.send(k, c.id, body); err != nil {
		c.detach()
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, errSilent)
	defer cancel()
	select {
	case err := <-c.answer:
		if err != nil {
			return nil, err
		}
		return c, nil
	case <-ctx.Done():
		c.detach()
		_ = b.send(wire.Kill, c.id, nil)
		_ = b.send(wire.Drop, c.id, nil)
		if errors.Is(context.Cause(ctx), errSilent) && b.carried.Host != "" {
			b.lose(fmt.Errorf("%s: %w", b.carried.Host, errDeaf))
			go b.shut()
		}
		return nil, context.Cause(ctx)
	}
}

func (b *Box) add(s Sink) (*Child, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err != nil {
		return nil, b.err
	}
	for b.last = (b.last + 1) &^ wire.FromAgent; b.children[b.last] != nil; b.last = (b.last + 1) &^ wire.FromAgent {
	}
	c := &Child{box: b, id: b.last, sink: s, answer: make(chan error, 1), changed: make(chan struct{})}
	b.children[c.id] = c
	return c, nil
}

// PID returns the process ID of the command, as the command sees it.
func (c *Child) PID() int { return c.pid }

// Input writes to stdin of the command. It blocks while the command does not read,
// until ctx ends: then only a part may have been sent. After the end of the command
// it returns ErrEnded.
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

// reserve waits until n bytes may be sent.
func (c *Child) reserve(ctx context.Context, n int) error {
	for {
		c.mu.Lock()
		ended, changed := c.ended, c.changed
		fits := c.unacked+n <= wire.Window
		if fits {
			c.unacked += n
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

// taken records that the agent has taken input. It returns false if n is invalid.
func (c *Child) taken(n int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > c.unacked {
		return false
	}
	c.unacked -= n
	close(c.changed)
	c.changed = make(chan struct{})
	return true
}

// endInput makes Input return.
func (c *Child) endInput() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.ended {
		c.ended = true
		close(c.changed)
		c.changed = make(chan struct{})
	}
}

// EndInput closes stdin of the command after the data of earlier calls.
func (c *Child) EndInput() error { return c.box.send(wire.InputEnd, c.id, nil) }

// Kill kills the command and all its descendants. It does not wait: the Sink receives
// the end.
func (c *Child) Kill() error { return c.box.send(wire.Kill, c.id, nil) }

// Drop detaches the Sink. The command continues, and its output is discarded. A call
// of the Sink that is in progress is not interrupted.
func (c *Child) Drop() {
	c.detach()
	_ = c.box.send(wire.Drop, c.id, nil)
}

func (c *Child) detach() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sink = nil
}

func (c *Child) listener() Sink {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sink
}

// lose makes waiting calls return after the box was lost.
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

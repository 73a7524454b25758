package box

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// errProtocol means that the agent sent a message that is not allowed in this state.
var errProtocol = errors.New("the agent violated the protocol")

// listen reads messages of the agent until the end, and then calls every Sink.
func (b *Box) listen(greeted chan<- struct{}) {
	err := b.read(greeted)
	if b.carried.Host != "" {
		err = fmt.Errorf("the connection to %s has ended: %w", b.carried.Host, err)
	}
	b.lose(err)
	b.shut()
	b.mu.Lock()
	lost, children := b.err, b.children
	b.children = map[uint32]*Child{}
	b.mu.Unlock()
	for _, c := range children {
		c.lose(lost)
	}
	b.sinks.Wait()
	if b.files != nil {
		b.files.Close()
	}
	close(b.done)
}

func (b *Box) read(greeted chan<- struct{}) error {
	frames := wire.NewReader(b.link, maxFrame)
	f, err := frames.Next()
	if err != nil {
		return err
	}
	if f.Kind != wire.Hello {
		return errProtocol
	}
	if err := f.Decode(&b.hello); err != nil {
		return err
	}
	if b.hello.Version != wire.Version {
		return fmt.Errorf("the agent speaks version %d, not %d", b.hello.Version, wire.Version)
	}
	close(greeted)
	for {
		f, err := frames.Next()
		if err != nil {
			return err
		}
		b.heard.Store(time.Now().UnixNano())
		switch f.Kind {
		case wire.Pong:
			continue
		case wire.Connect:
			if err := b.lead(f); err != nil {
				return err
			}
			continue
		}
		c := b.child(f.ID)
		if c == nil {
			return errProtocol
		}
		if err := c.handle(f); err != nil {
			return err
		}
	}
}

func (b *Box) child(id uint32) *Child {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.children[id]
}

func (b *Box) forget(id uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.children, id)
}

// handle handles a frame for this command. An error loses the box.
func (c *Child) handle(f wire.Frame) error {
	if (f.Kind == wire.Started || f.Kind == wire.Refused) != (c.stage == asked) {
		return errProtocol
	}
	switch f.Kind {
	case wire.Started:
		var body wire.StartedBody
		if err := f.Decode(&body); err != nil {
			return err
		}
		c.stage = running
		c.pid = body.PID
		c.answer <- nil
	case wire.Refused:
		var body wire.RefusedBody
		if err := f.Decode(&body); err != nil {
			return err
		}
		c.box.forget(c.id)
		c.answer <- refusal(body)
	case wire.Stdout, wire.Stderr, wire.OutSkipped, wire.ErrSkipped:
		return c.outputs(f)
	case wire.Taken:
		if len(f.Body) != 4 || !c.taken(int(binary.BigEndian.Uint32(f.Body))) {
			return errProtocol
		}
	case wire.Exited:
		return c.exits(f)
	case wire.Gone:
		if c.stage != exited {
			return errProtocol
		}
		c.box.forget(c.id)
		c.endInput()
		if s := c.listener(); s != nil {
			s.Gone(nil)
		}
	default:
		return fmt.Errorf("the agent sent a frame of kind %d", f.Kind)
	}
	return nil
}

// outputs handles a frame about a stream.
func (c *Child) outputs(f wire.Frame) error {
	if len(f.Body) > wire.MaxData {
		return wire.ErrTooLong
	}
	stream := sandbox.Stdout
	if f.Kind == wire.Stderr || f.Kind == wire.ErrSkipped {
		stream = sandbox.Stderr
	}
	s := c.listener()
	if f.Kind == wire.Stdout || f.Kind == wire.Stderr {
		if s != nil {
			s.Output(stream, f.Body)
		}
		return nil
	}
	if len(f.Body) != 8 {
		return errProtocol
	}
	n := binary.BigEndian.Uint64(f.Body)
	if n > maxSkipped || c.missed+int64(n) > maxSkipped {
		return errProtocol
	}
	c.missed += int64(n)
	if s != nil {
		s.Skipped(stream, int64(n))
	}
	return nil
}

func (c *Child) exits(f wire.Frame) error {
	if c.stage != running {
		return errProtocol
	}
	var body wire.ExitBody
	if err := f.Decode(&body); err != nil {
		return err
	}
	c.stage = exited
	if s := c.listener(); s != nil {
		s.Exited(body)
	}
	return nil
}

func refusal(r wire.RefusedBody) error {
	switch {
	case r.NoProgram:
		return fmt.Errorf("%w: %s", ErrNoProgram, short(r.Error))
	case r.NoDir:
		return fmt.Errorf("%w: %s", ErrNoDir, short(r.Error))
	case r.NoServer:
		return fmt.Errorf("%w: %s", ErrNoServer, short(r.Error))
	}
	return fmt.Errorf("it cannot be started: %s", short(r.Error))
}

// short limits the length of a text from the agent.
func short(s string) string {
	const most = 1000
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}

// Package box is the near side of a sandbox: it starts commands through an
// agent and hands on what the agent says of them. It knows the order in which
// an agent may speak, and believes nothing else: whoever breaks that order, or
// falls silent in the middle of a frame, has lost the box and all that runs in
// it. It does not know where the agent is, who the commands are for, or what
// becomes of their output.
//
// Begin with [Open] and [Box.Start].
package box

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

var (
	// ErrNoProgram is that the program of a command is not there.
	ErrNoProgram = errors.New("there is no such program")
	// ErrNoDir is that the directory of a command is not there.
	ErrNoDir = errors.New("there is no such directory")
	// ErrLost is that the sandbox is gone, with everything in it.
	ErrLost = errors.New("the sandbox is gone")
	// ErrEnded is that a command reads no more, as it has ended.
	ErrEnded = errors.New("the command has ended")
)

const (
	// greeting is how long an agent may take to say hello.
	greeting = 20 * time.Second
	// answering is how long it may take to start a command.
	answering = 20 * time.Second
	// listening is how long it may read nothing of what it is told.
	listening = 10 * time.Second
	// maxFrame bounds the frames of an agent.
	maxFrame = 64 << 10
)

// A Box is an agent and the commands that it runs.
type Box struct {
	link  sandbox.Link
	out   *wire.Writer
	hello wire.HelloBody
	done  chan struct{}

	mu       sync.Mutex
	last     uint32
	children map[uint32]*Child
	err      error // why it was lost
	closed   sync.Once
	closing  error // what closing the link said
}

// Open takes over a link and waits for its agent. When that does not come, the
// link is closed.
func Open(ctx context.Context, link sandbox.Link) (*Box, error) {
	b := &Box{link: link, done: make(chan struct{}), children: map[uint32]*Child{}}
	b.out = wire.NewWriter(link)
	greeted := make(chan struct{})
	go b.listen(greeted)
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	select {
	case <-greeted:
		return b, nil
	case <-b.done:
		b.shut()
		return nil, b.Err()
	case <-ctx.Done():
		b.shut()
		<-b.done
		return nil, fmt.Errorf("the agent in the sandbox does not answer: %w", ctx.Err())
	}
}

// PID is the process number of the agent, as it sees itself.
func (b *Box) PID() int { return b.hello.PID }

// UID is the user that commands run as, as the agent sees it.
func (b *Box) UID() int { return b.hello.UID }

// Done is closed when the box is lost or closed, and every Sink has heard of it.
func (b *Box) Done() <-chan struct{} { return b.done }

// Err says why the box is Done: an ErrLost. It is nil before.
func (b *Box) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Live is how many commands are not gone.
func (b *Box) Live() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.children)
}

// Close ends everything in the box and returns when it is gone. A Sink must
// not call it.
func (b *Box) Close() error {
	b.lose(errors.New("it was closed"))
	b.shut()
	<-b.done
	return b.closing
}

// shut closes the link, once.
func (b *Box) shut() { b.closed.Do(func() { b.closing = b.link.Close() }) }

// lose notes the first reason why the box is lost.
func (b *Box) lose(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = fmt.Errorf("%w: %w", ErrLost, why)
	}
}

// send tells the agent something. An agent that does not listen loses the box.
func (b *Box) send(k wire.Kind, id uint32, body []byte) error {
	deaf := time.AfterFunc(listening, func() {
		b.lose(errors.New("the agent does not listen"))
		b.shut()
	})
	defer deaf.Stop()
	if err := b.out.Send(k, id, body); err != nil {
		b.lose(err)
		go b.shut() // the reading side may be where this is called from
		return b.Err()
	}
	return nil
}

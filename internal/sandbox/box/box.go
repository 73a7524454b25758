// Package box is the server's side of a sandbox: it starts commands through an agent and passes
// on the agent's messages. It does not trust the agent: if the agent violates the protocol, or
// stops in the middle of a frame, the box is lost with all commands in it. It knows neither the
// machine of the agent, nor the caller of a command, nor the use of the output.
//
// Begin with [Launch] and [Box.Start]; [Box.Dial] connects to a port on which a command
// listens.
package box

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/mirror"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

var (
	// ErrNoProgram means that the program of a command was not found.
	ErrNoProgram = errors.New("there is no such program")
	// ErrNoDir means that the directory of a command was not found.
	ErrNoDir = errors.New("there is no such directory")
	// ErrNoServer means that no command listens on a port.
	ErrNoServer = errors.New("nothing listens on this port")
	// ErrLost means that the sandbox has ended, with everything in it.
	ErrLost = errors.New("the sandbox has ended")
	// ErrEnded means that a command has ended and does not read input.
	ErrEnded = errors.New("the command has ended")
)

const (
	// helloTimeout is the timeout of the agent's first message.
	helloTimeout = 20 * time.Second
	// startTimeout is the timeout of a start.
	startTimeout = 20 * time.Second
	// sendTimeout is the timeout of a write to the agent.
	sendTimeout = 10 * time.Second
	// askAfter is how long an agent on another machine that runs commands may be silent before it is asked for an answer, and lostAfter
	// how long until its machine counts as lost.
	askAfter, lostAfter = 5 * time.Second, 15 * time.Second
	// maxFrame is the maximum length of a frame from an agent.
	maxFrame = 64 << 10
	// maxSkipped is the maximum output of a command that an agent may skip.
	maxSkipped = 1 << 60
)

// A Box is an agent and the commands that it runs.
type Box struct {
	link sandbox.Link
	// carried lists the directories that the link carries to another machine; zero for
	// sandboxes on this one.
	carried sandbox.Carried
	files   *mirror.Mirror // nil if commands see the files of this machine
	sinks   sync.WaitGroup // goroutines that call a Sink
	heard   atomic.Int64   // when the last frame came, in nanoseconds
	asked   atomic.Int64   // when the agent was asked for a sign of life; 0: it is not owed
	out     *wire.Writer
	hello   wire.HelloBody
	done    chan struct{}

	mu       sync.Mutex
	last     uint32
	children map[uint32]*Child
	notes    []string // about files that were taken back
	err      error    // why it was lost
	closed   sync.Once
	closing  error // the error of closing the link
}

// Launch opens a box in a sandbox of a tier. If it fails, the tier is probed again before it is
// used again.
func Launch(ctx context.Context, t *sandbox.Tier, spec sandbox.Spec) (*Box, error) {
	link, err := t.Launch(ctx, spec)
	var b *Box
	if err == nil {
		b, err = Open(ctx, link)
	}
	if err != nil {
		t.Doubt()
	}
	return b, err
}

// Open takes ownership of a link and waits for the agent's first message. If it does
// not arrive, Open closes the link.
func Open(ctx context.Context, link sandbox.Link) (*Box, error) {
	b := &Box{link: link, done: make(chan struct{}), children: map[uint32]*Child{}}
	b.out = wire.NewWriter(link)
	if c, ok := link.(sandbox.Carrier); ok {
		b.carry(c.Carries())
	}
	greeted := make(chan struct{})
	go b.listen(greeted)
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	select {
	case <-greeted:
		if b.carried.Host != "" {
			go b.watch()
		}
		if b.files != nil {
			go b.follow()
		}
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

// Guarantees returns the guarantees of the sandbox of the box.
func (b *Box) Guarantees() []sandbox.Guarantee { return b.link.Guarantees() }

// ProxyURL returns the URL of the proxy for commands in the sandbox.
func (b *Box) ProxyURL() string {
	if p, ok := b.link.(sandbox.Proxied); ok {
		return p.ProxyURL()
	}
	return sandbox.ProxyURL
}

// Host returns the machine that the box is on, or "" for this one.
func (b *Box) Host() string { return b.carried.Host }

// PID returns the process ID of the agent, as the agent sees it.
func (b *Box) PID() int { return b.hello.PID }

// UID returns the user ID of commands, as the agent sees it.
func (b *Box) UID() int { return b.hello.UID }

// Done is closed after the box was lost or closed and every Sink was called.
func (b *Box) Done() <-chan struct{} { return b.done }

// Err returns an ErrLost after Done, and nil before.
func (b *Box) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.err
}

// Live returns the number of commands that have not ended completely.
func (b *Box) Live() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.children)
}

// Close ends everything in the box and returns when it has ended. A Sink must not
// call it.
func (b *Box) Close() error {
	b.lose(errors.New("it was closed"))
	b.shut()
	<-b.done
	return b.closing
}

// shut closes the link, once.
func (b *Box) shut() { b.closed.Do(func() { b.closing = b.link.Close() }) }

// lose records the first reason why the box is lost.
func (b *Box) lose(why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = fmt.Errorf("%w: %w", ErrLost, why)
	}
}

// send sends a frame to the agent. If the agent does not read it, the box is lost.
func (b *Box) send(k wire.Kind, id uint32, body []byte) error {
	deaf := time.AfterFunc(sendTimeout, func() {
		b.lose(errors.New("the agent does not listen"))
		b.shut()
	})
	defer deaf.Stop()
	if err := b.out.Send(k, id, body); err != nil {
		b.lose(err)
		go b.shut() // send may be called from the goroutine that reads
		return b.Err()
	}
	return nil
}

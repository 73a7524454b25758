package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// patience is the time from the end of stdin to SIGTERM, and from there to SIGKILL.
const patience = 2 * time.Second

// An ExitError is how a program failed.
type ExitError struct {
	Program string
	Why     string // such as "exit code 1"
	Code    int    // its exit code
	Stderr  string // its end
	Limit   bool   // it was ended because it took too much time or memory
}

func (e *ExitError) Error() string {
	text := e.Program + " failed: " + e.Why
	if e.Stderr != "" {
		text += ": " + e.Stderr
	}
	return text
}

// A Process is a program that was started. It is the sink of its own box.
type Process struct {
	box   *box.Box
	child *box.Child
	spec  Spec
	name  string

	layout   sandbox.Layout
	isolated bool

	stop  func() // ends the proxy
	words sandbox.Tail
	ended chan struct{} // closed when the program itself has ended
	done  chan struct{} // closed when the program has ended, with all that it has started

	// Written by the goroutine of the box, before done is closed.
	exit *wire.ExitBody
	err  error
}

// Write writes to stdin. It blocks while the program does not read, until ctx ends: then a part may
// have been written.
func (p *Process) Write(ctx context.Context, data []byte) error { return p.child.Input(ctx, data) }

// Inside returns the path of a file of this machine as the program sees it.
func (p *Process) Inside(host string) (path string, ok bool) {
	if !p.isolated {
		return host, true
	}
	return p.layout.Inside(host)
}

// Outside returns the path on this machine of a file that the program sees; "" if it is not known.
func (p *Process) Outside(inside string) string {
	if !p.isolated {
		return inside
	}
	return p.layout.Outside(inside)
}

// Words returns the end of the program's stderr.
func (p *Process) Words() string { return p.words.String() }

// Done is closed when the program has ended, with all that it has started.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err returns how the program ended, after Done: nil, an [*ExitError], or why its sandbox was lost.
func (p *Process) Err() error { return p.err }

// Close ends the program, with all that it has started: stdin ends first, then comes SIGTERM, then SIGKILL, so that a
// program has time to store its work and to remove its locks.
func (p *Process) Close() error {
	if p.child.EndInput() == nil && !p.ends(patience) && p.child.Kill() == nil {
		p.ends(2 * patience)
	}
	return p.Kill()
}

// Kill ends the program at once, with all that it has started.
func (p *Process) Kill() error {
	err := p.box.Close()
	p.stop()
	return err
}

// ends waits for the end of the program, and reports whether it came in time.
func (p *Process) ends(within time.Duration) bool {
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case <-p.done:
	case <-p.box.Done():
	case <-timeout.C:
		return false
	}
	return true
}

// Output passes on the output of the program.
func (p *Process) Output(stream sandbox.Stream, data []byte) {
	if stream == sandbox.Stderr {
		_, _ = p.words.Write(data) // a Tail does not fail
	} else if p.spec.Output != nil {
		p.spec.Output(data)
	}
}

// Skipped is not called: all output is wanted.
func (p *Process) Skipped(sandbox.Stream, int64) {}

// Exited keeps how the program has ended.
func (p *Process) Exited(e wire.ExitBody) {
	p.exit = &e
	close(p.ended)
}

// Gone reports the end of the program.
func (p *Process) Gone(err error) {
	if p.err = err; p.exit != nil {
		p.err = p.failure()
	}
	if p.spec.Gone != nil {
		p.spec.Gone(p.err)
	}
	close(p.done)
}

// failure returns how the program failed, or nil.
func (p *Process) failure() error {
	e := &ExitError{Program: p.name, Code: p.exit.Code, Stderr: p.Words()}
	switch {
	case p.exit.TimedOut:
		e.Why, e.Limit = fmt.Sprintf("it took more than %s", p.spec.Timeout), true
	case p.exit.LimitExceeded != "":
		e.Why, e.Limit = "it exceeded the limit of "+p.exit.LimitExceeded, true
	case p.exit.Signal != "":
		e.Why = "it was ended by " + p.exit.Signal
	case p.exit.Code != 0:
		e.Why = fmt.Sprintf("exit code %d", p.exit.Code)
	default:
		return nil
	}
	return e
}

// Run runs a program to its end. It reads stdin from in, and writes stdout to out; an error of out
// ends the program. Both may be nil. The error is an ErrMissing, an [*ExitError], an error of in or
// out, or the error of ctx. After Run nothing of the program is left.
func (r *Runner) Run(ctx context.Context, s Spec, in io.Reader, out io.Writer) error {
	if r.Slots != nil {
		select {
		case r.Slots <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		defer func() { <-r.Slots }()
	}
	failed, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s.Input = in != nil
	s.Output = func(data []byte) {
		if out != nil && failed.Err() == nil {
			if _, err := out.Write(data); err != nil {
				fail(err)
			}
		}
	}
	p, err := r.Start(ctx, s)
	if err != nil {
		return err
	}
	var feeding sync.WaitGroup
	feeding.Go(func() {
		if err := p.feed(failed, in); err != nil {
			fail(err)
		}
	})
	select {
	case <-p.ended: // its descendants end with it
	case <-p.done:
	case <-failed.Done():
	}
	lost := p.Kill() // ends the program, and feed with it
	<-p.done
	feeding.Wait()
	if failed.Err() != nil {
		return context.Cause(failed)
	}
	return errors.Join(p.err, lost)
}

// feed writes stdin of a program. A program that ends before it has read everything is no
// failure.
func (p *Process) feed(ctx context.Context, from io.Reader) error {
	if from == nil {
		return nil
	}
	buffer := make([]byte, wire.MaxData)
	for {
		n, err := from.Read(buffer)
		if p.Write(ctx, buffer[:n]) != nil {
			return nil
		}
		if errors.Is(err, io.EOF) {
			_ = p.child.EndInput() // it has ended
			return nil
		}
		if err != nil {
			return err
		}
	}
}

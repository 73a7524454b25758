package upstream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Process is a running program.
type Process interface {
	// Write writes to its stdin. It blocks while the program does not read, until ctx ends.
	Write(ctx context.Context, data []byte) error
	// Words returns the end of the program's stderr.
	Words() string
	// Close ends it, with all that it has started.
	Close() error
}

// Start starts a program. output gets its stdout, in order and from one goroutine, and gone is
// called once after that. Both must not block.
type Start func(ctx context.Context, output func([]byte), gone func(error)) (Process, error)

// Spawn starts a server and speaks with it on stdin and stdout. Only Close ends it: ctx bounds the
// handshake.
func Spawn(ctx context.Context, client Client, start Start, stateless bool) (*Conn, error) {
	c := newConn(client)
	l := &stdioLink{conn: c, writing: make(chan struct{}, 1), started: make(chan struct{})}
	c.link = l
	process, err := start(ctx, l.output, l.gone)
	if err != nil {
		return nil, err
	}
	l.process = process
	close(l.started)
	return c.open(ctx, stateless)
}

// A stdioLink carries messages on lines.
type stdioLink struct {
	conn    *Conn
	process Process
	started chan struct{} // closed when process is set
	writing chan struct{} // a lock that can be waited for
	line    []byte        // so far; for output
	skip    bool          // a line that was too long
	closed  sync.Once
	closing error
}

// output takes the output of the server.
func (l *stdioLink) output(data []byte) {
	for len(data) > 0 && !l.skip {
		part, rest, whole := bytes.Cut(data, []byte("\n"))
		if len(l.line)+len(part) > MaxMessage {
			l.skip, l.line = true, nil
			l.conn.lose(fmt.Errorf("the server sent a message of more than %d bytes", MaxMessage))
			return
		}
		if !whole {
			l.line = append(l.line, part...)
			return
		}
		if len(l.line) > 0 {
			part = append(l.line, part...)
			l.line = nil
		} else {
			part = bytes.Clone(part) // the bytes are valid until we return
		}
		l.conn.incoming(part, nil)
		data = rest
	}
}

func (l *stdioLink) gone(err error) {
	if err == nil {
		err = errors.New("its program has ended")
	}
	go func() { // the program may end before it is known to have begun
		<-l.started
		if words := l.process.Words(); words != "" {
			err = fmt.Errorf("%w; its last words: %s", err, words)
		}
		l.conn.lose(err)
	}()
}

func (l *stdioLink) send(ctx context.Context, m outgoing, _ *Call) error {
	select {
	case l.writing <- struct{}{}:
		defer func() { <-l.writing }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, context.Cause(ctx))
	}
	if err := l.process.Write(ctx, append(m.body, '\n')); err != nil {
		// Half a message may be there, so that nothing after it would be understood.
		l.conn.lose(fmt.Errorf("writing to the server: %w", err))
		return l.conn.Err()
	}
	return nil
}

func (l *stdioLink) opened() {}

func (l *stdioLink) close() error {
	l.closed.Do(func() { l.closing = l.process.Close() })
	return l.closing
}

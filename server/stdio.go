package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
)

// Stdio serves one client over two pipes, with one message on each line.
type Stdio struct {
	Server     *Server
	Access     Access
	MaxMessage int           // bytes of one line
	Grace      time.Duration // for calls in flight at the end
}

// Serve reads until the end of input or of ctx, or until a write fails, and
// returns when all calls have ended or the grace time has passed. It closes in.
func (t Stdio) Serve(ctx context.Context, in io.ReadCloser, out io.Writer) error {
	ended := make(chan error, 2)
	lines := jsonrpc.NewLineWriter(outlet{out, ended})
	c := t.Server.newConn(ctx, t.Access, lines.Send)
	c.flush = lines.Flush
	go func() { ended <- t.read(c, in) }()
	var list sync.WaitGroup
	list.Go(func() { t.Server.ToolsList(t.Access) }) // the client asks for it after the handshake
	defer list.Wait()
	var err error
	select {
	case err = <-ended:
		in.Close()
	case <-ctx.Done():
		in.Close() // ends the read, where the system can end it
	}
	t.Server.Close()
	c.drain(t.Grace)
	return err
}

func (t Stdio) read(c *conn, in io.Reader) error {
	lines := jsonrpc.NewLineReader(in, t.MaxMessage)
	for {
		line, err := lines.Next()
		long := (*jsonrpc.LongLine)(nil)
		switch {
		case err == nil:
			c.receive(line, &t.Access)
		case errors.As(err, &long):
			c.send(jsonrpc.Failure(long.ID(),
				jsonrpc.Errorf(mcp.INVALID_REQUEST, "a message may have at most %d bytes", t.MaxMessage)))
		case errors.Is(err, io.EOF):
			return nil
		default:
			return fmt.Errorf("reading from the client: %w", err)
		}
	}
}

// An outlet is a writer that reports its first error on a channel. jsonrpc.LineWriter
// does not write again after an error.
type outlet struct {
	io.Writer
	broken chan<- error // has room for one
}

func (o outlet) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if err != nil {
		err = fmt.Errorf("writing to the client: %w", err)
		o.broken <- err
	}
	return n, err
}

package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// A relay copies bytes in both directions until both sides have ended, or nothing was
// copied for too long.
type relay struct {
	client     *clientConn
	upstream   net.Conn
	lastActive atomic.Int64 // in nanoseconds
}

// relayConns relays, and returns how many bytes it copied in each direction.
func relayConns(ctx context.Context, c *clientConn, upstream net.Conn) (sent, received int64) {
	defer upstream.Close()
	stop := context.AfterFunc(ctx, func() { _ = upstream.Close() })
	defer stop()
	c.endHead()
	r := &relay{client: c, upstream: upstream}
	r.touch()
	var both sync.WaitGroup
	both.Go(func() { sent = r.copy(upstream, c.Conn, c.in) })
	both.Go(func() { received = r.copy(c.Conn, upstream, upstream) })
	both.Wait()
	return sent, received
}

func (r *relay) touch() { r.lastActive.Store(time.Now().UnixNano()) }

// copy copies one direction. in reads from the connection from. At the end of the input
// it closes the write side of to, and the other direction continues; an error ends both.
func (r *relay) copy(to, from net.Conn, in io.Reader) (n int64) {
	buf := make([]byte, bufferSize)
	for {
		_ = from.SetReadDeadline(time.Now().Add(r.client.idle))
		got, err := in.Read(buf)
		if got > 0 {
			r.touch()
			_ = to.SetWriteDeadline(time.Now().Add(r.client.idle))
			if _, err := to.Write(buf[:got]); err != nil {
				break
			}
			n += int64(got)
			r.touch()
		}
		if err == nil || errors.Is(err, os.ErrDeadlineExceeded) && r.active() {
			continue
		}
		if half, ok := to.(interface{ CloseWrite() error }); ok && errors.Is(err, io.EOF) && half.CloseWrite() == nil {
			return n
		}
		break
	}
	_ = to.Close()
	_ = from.Close()
	return n
}

// active reports whether something was copied recently in any direction.
func (r *relay) active() bool { return time.Since(time.Unix(0, r.lastActive.Load())) < r.client.idle }

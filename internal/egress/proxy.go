package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxHead            = 64 << 10         // maximum size of a request header
	headTimeout        = 15 * time.Second // to receive it
	defaultProxyConns  = 256
	defaultIdleTimeout = 10 * time.Minute // of a connection without traffic
	bufferSize         = 32 << 10
)

// ProxyOptions configure a Proxy. The default numbers fit one sandbox.
type ProxyOptions struct {
	Dialer      *Dialer
	MaxConns    int           // at once; others wait
	IdleTimeout time.Duration // closes a connection without traffic
	// OnEvent is called when a connection or an HTTP request has ended or was refused.
	// It is called concurrently.
	OnEvent func(ProxyEvent)
	// OnRefused is called with the reason before a request is refused. The response then
	// has no body, because a browser would show it as if it came from the page. nil: the
	// body has the reason. It is called concurrently.
	OnRefused func(to Target, err error)
	Log       *slog.Logger // nil: no log
}

// A ProxyEvent describes one connection, or one HTTP request.
type ProxyEvent struct {
	Target   Target // zero if it could not be parsed
	Err      error  // why it failed; nil if it did not
	Sent     int64  // bytes from the client
	Received int64
	Started  time.Time
	Duration time.Duration
}

// A Proxy makes a Dialer available to programs. One listener serves HTTP, with and
// without CONNECT, and SOCKS5. The proxy looks up all names.
type Proxy struct {
	o         ProxyOptions
	transport *http.Transport
}

// NewProxy returns a proxy. Serve starts it.
func NewProxy(o ProxyOptions) *Proxy {
	if o.MaxConns == 0 {
		o.MaxConns = defaultProxyConns
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = defaultIdleTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{o: o}
	p.transport = &http.Transport{
		DialContext:            o.Dialer.DialContext,
		DisableCompression:     true, // the client decides about compression
		MaxIdleConns:           o.MaxConns,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  o.IdleTimeout,
		MaxResponseHeaderBytes: maxHead,
	}
	return p
}

// Serve serves connections until ctx ends, and returns when all have ended. It closes l.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer func() {
		cancel()
		_ = l.Close()
		all.Wait()
		p.transport.CloseIdleConnections()
	}()
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	places := make(chan struct{}, p.o.MaxConns)
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		conn, err := accept(ctx, l)
		switch {
		case ctx.Err() != nil:
			if conn != nil {
				_ = conn.Close()
			}
			return nil
		case err != nil:
			return fmt.Errorf("the proxy cannot accept connections: %w", err)
		}
		all.Go(func() {
			defer func() { <-places }()
			p.handle(ctx, conn)
		})
	}
}

// accept retries if there are too many open files.
func accept(ctx context.Context, l net.Listener) (net.Conn, error) {
	for wait := 5 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		conn, err := l.Accept()
		if err == nil || errors.Is(err, net.ErrClosed) || !isTemporary(err) {
			return conn, err
		}
		if err := clock.Sleep(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// handle serves one connection. A panic ends only this connection.
func (p *Proxy) handle(ctx context.Context, conn net.Conn) {
	defer func() {
		if r := recover(); r != nil {
			p.o.Log.Error("the proxy panicked", "panic", r)
		}
		_ = conn.Close()
	}()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	c := newClientConn(conn, p.o.IdleTimeout)
	first, err := c.in.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		p.socks(ctx, c)
		return
	}
	for p.request(ctx, c) {
		c.expectHead(p.o.IdleTimeout)
		if _, err := c.in.Peek(1); err != nil {
			return
		}
		c.expectHead(headTimeout)
	}
}

// A clientConn is the connection of a program. Until its request header has been read,
// its size and time are limited.
type clientConn struct {
	net.Conn
	in          *bufio.Reader
	idle        time.Duration
	headLeft    int // bytes that the header may still have
	readingHead bool
}

func newClientConn(conn net.Conn, idle time.Duration) *clientConn {
	c := &clientConn{Conn: conn, idle: idle}
	c.in = bufio.NewReaderSize((*clientReader)(c), 4<<10)
	c.expectHead(headTimeout)
	return c
}

// expectHead limits size and time of the next request header.
func (c *clientConn) expectHead(within time.Duration) {
	c.readingHead, c.headLeft = true, maxHead
	_ = c.SetReadDeadline(time.Now().Add(within))
}

func (c *clientConn) endHead() { c.readingHead = false }

var errHeadTooLarge = errors.New("the request is too large")

// clientReader reads from a client without a buffer.
type clientReader clientConn

func (b *clientReader) Read(to []byte) (int, error) {
	if !b.readingHead {
		_ = b.SetReadDeadline(time.Now().Add(b.idle))
		return b.Conn.Read(to)
	}
	if b.headLeft <= 0 {
		return 0, errHeadTooLarge
	}
	n, err := b.Conn.Read(to[:min(len(to), b.headLeft)])
	b.headLeft -= n
	return n, err
}

// report calls OnEvent.
func (p *Proxy) report(v ProxyEvent) {
	if p.o.OnEvent != nil {
		v.Duration = time.Since(v.Started)
		p.o.OnEvent(v)
	}
}

// connect dials a target, and reports errors.
func (p *Proxy) connect(ctx context.Context, t Target, began time.Time) (net.Conn, error) {
	conn, err := p.o.Dialer.Dial(ctx, t)
	if err != nil {
		p.report(ProxyEvent{Target: t, Err: err, Started: began})
		return nil, tool.AsError(err)
	}
	return conn, nil
}

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

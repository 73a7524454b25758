package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

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
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
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

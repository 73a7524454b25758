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
	maxHead            = 64 << 10         // bytes of what asks for a connection
	headTimeout        = 15 * time.Second // for all of it
	defaultProxyConns  = 256
	defaultIdleTimeout = 10 * time.Minute // entry a connection on which nothing moves
	bufferSize         = 32 << 10
)

// ProxyOptions say how a Proxy serves. The zero values of its numbers are fit
// for one sandbox.
type ProxyOptions struct {
	Dialer      *Dialer
	MaxConns    int           // connections at once; more wait
	IdleTimeout time.Duration // before a connection on which nothing moves is closed
	// OnEvent is told of every connection that was asked for, when it has ended or
	// was refused. It is called concurrently.
	OnEvent func(ProxyEvent)
	// OnRefused is told why nothing is connected to or asked, before whoever wanted
	// it gets a status and no words: a browser would show them as if a page had
	// said them. nil: there are words. It is called concurrently.
	OnRefused func(to Target, err error)
	Log       *slog.Logger // nil: silent
}

// A ProxyEvent is what became of one connection, or of one request of HTTP.
type ProxyEvent struct {
	Target   Target // the zero Target where none could be read
	Err      error  // why it was not made; nil when it was
	Sent     int64  // bytes of the client's
	Received int64
	Started  time.Time
	Duration time.Duration
}

// A Proxy is a Dialer for programs that cannot connect by themselves. On one
// listener it speaks HTTP, with CONNECT and without, and SOCKS5. Names are
// looked up here and nowhere else.
type Proxy struct {
	o         ProxyOptions
	transport *http.Transport
}

// NewProxy makes a proxy that serves nothing yet.
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
		DisableCompression:     true, // it is the client's to ask for
		MaxIdleConns:           o.MaxConns,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  o.IdleTimeout,
		MaxResponseHeaderBytes: maxHead,
	}
	return p
}

// Serve takes connections until ctx ends, and returns when all have ended. It
// closes l.
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
			return fmt.Errorf("the proxy takes no more connections: %w", err)
		}
		all.Go(func() {
			defer func() { <-places }()
			p.handle(ctx, conn)
		})
	}
}

// accept waits a little where there are too many files open.
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

// handle serves one connection. A panic ends it and nothing else.
func (p *Proxy) handle(ctx context.Context, conn net.Conn) {
	defer func() {
		if r := recover(); r != nil {
			p.o.Log.Error("panic in the proxy", "panic", r)
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

// A clientConn is who asks for connections. What it sends is bounded until the head
// has been read.
type clientConn struct {
	net.Conn
	in          *bufio.Reader
	idle        time.Duration
	headLeft    int // bytes of the head
	readingHead bool
}

func newClientConn(conn net.Conn, idle time.Duration) *clientConn {
	c := &clientConn{Conn: conn, idle: idle}
	c.in = bufio.NewReaderSize((*clientReader)(c), 4<<10)
	c.expectHead(headTimeout)
	return c
}

// expectHead gives what asks for the next connection a time and a size.
func (c *clientConn) expectHead(within time.Duration) {
	c.readingHead, c.headLeft = true, maxHead
	_ = c.SetReadDeadline(time.Now().Add(within))
}

func (c *clientConn) endHead() { c.readingHead = false }

var errHeadTooLarge = errors.New("the request is too long")

// clientReader are what a client sends, not buffered.
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

// report tells of a connection that has ended.
func (p *Proxy) report(v ProxyEvent) {
	if p.o.OnEvent != nil {
		v.Duration = time.Since(v.Started)
		p.o.OnEvent(v)
	}
}

// dialFunc dials a target. An error has been noted.
func (p *Proxy) connect(ctx context.Context, t Target, began time.Time) (net.Conn, error) {
	conn, err := p.o.Dialer.Dial(ctx, t)
	if err != nil {
		p.report(ProxyEvent{Target: t, Err: err, Started: began})
		return nil, tool.AsError(err)
	}
	return conn, nil
}

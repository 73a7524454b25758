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
	maxHead    = 64 << 10         // bytes of what asks for a connection
	headTime   = 15 * time.Second // for all of it
	mostConns  = 256
	idleTime   = 10 * time.Minute // of a connection on which nothing moves
	bufferSize = 32 << 10
)

// ProxyOptions say how a Proxy serves. The zero values of its numbers are fit
// for one sandbox.
type ProxyOptions struct {
	Dialer *Dialer
	Most   int           // connections at once; more wait
	Idle   time.Duration // before a connection on which nothing moves is closed
	// Note is told of every connection that was asked for, when it has ended or
	// was refused. It is called concurrently.
	Note func(Visit)
	// Refused is told why nothing is connected to or asked, before whoever wanted
	// it gets a status and no words: a browser would show them as if a page had
	// said them. nil: there are words. It is called concurrently.
	Refused func(to Target, err error)
	Log     *slog.Logger // nil: silent
}

// A Visit is what became of one connection, or of one request of HTTP.
type Visit struct {
	Target   Target // the zero Target where none could be read
	Err      error  // why it was not made; nil when it was
	Sent     int64  // bytes of the client's
	Received int64
	Began    time.Time
	Took     time.Duration
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
	if o.Most == 0 {
		o.Most = mostConns
	}
	if o.Idle == 0 {
		o.Idle = idleTime
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	p := &Proxy{o: o}
	p.transport = &http.Transport{
		DialContext:            o.Dialer.DialContext,
		DisableCompression:     true, // it is the client's to ask for
		MaxIdleConns:           o.Most,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  o.Idle,
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
	places := make(chan struct{}, p.o.Most)
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
		if err == nil || errors.Is(err, net.ErrClosed) || !passing(err) {
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
	c := newClient(conn, p.o.Idle)
	first, err := c.in.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		p.socks(ctx, c)
		return
	}
	for p.request(ctx, c) {
		c.expectHead(p.o.Idle)
		if _, err := c.in.Peek(1); err != nil {
			return
		}
		c.expectHead(headTime)
	}
}

// A client is who asks for connections. What it sends is bounded until the head
// has been read.
type client struct {
	net.Conn
	in   *bufio.Reader
	idle time.Duration
	left int // bytes of the head
	head bool
}

func newClient(conn net.Conn, idle time.Duration) *client {
	c := &client{Conn: conn, idle: idle}
	c.in = bufio.NewReaderSize((*clientBytes)(c), 4<<10)
	c.expectHead(headTime)
	return c
}

// expectHead gives what asks for the next connection a time and a size.
func (c *client) expectHead(within time.Duration) {
	c.head, c.left = true, maxHead
	_ = c.SetReadDeadline(time.Now().Add(within))
}

func (c *client) headDone() { c.head = false }

var errHead = errors.New("the request is too long")

// clientBytes are what a client sends, not buffered.
type clientBytes client

func (b *clientBytes) Read(to []byte) (int, error) {
	if !b.head {
		_ = b.SetReadDeadline(time.Now().Add(b.idle))
		return b.Conn.Read(to)
	}
	if b.left <= 0 {
		return 0, errHead
	}
	n, err := b.Conn.Read(to[:min(len(to), b.left)])
	b.left -= n
	return n, err
}

// note tells of a connection that has ended.
func (p *Proxy) note(v Visit) {
	if p.o.Note != nil {
		v.Took = time.Since(v.Began)
		p.o.Note(v)
	}
}

// connect dials a target. An error has been noted.
func (p *Proxy) connect(ctx context.Context, t Target, began time.Time) (net.Conn, error) {
	conn, err := p.o.Dialer.Dial(ctx, t)
	if err != nil {
		p.note(Visit{Target: t, Err: err, Began: began})
		return nil, tool.AsError(err)
	}
	return conn, nil
}

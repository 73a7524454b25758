package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// idleConn is how long a connection is kept for the next request.
const idleConn = time.Minute

// A pool has the connections that were made under one set of rules. They are
// used under no other.
type pool struct {
	client    *Client
	rules     *rules
	transport *http.Transport
	connect   connect
	robots    *robots

	uses    int // of the client's
	retired bool

	mu     sync.Mutex
	open   map[*pooled]bool
	life   context.Context
	finish context.CancelFunc
}

func newPool(c *Client, r Rules) (*pool, error) {
	d, err := NewDialer(r, c.o.Resolver)
	if err != nil {
		return nil, err
	}
	l := c.o.Limits
	p := &pool{client: c, rules: d.rules, robots: newRobots(), open: map[*pooled]bool{}}
	p.transport = &http.Transport{
		DialContext:            p.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.o.Roots},
		TLSHandshakeTimeout:    l.Connect,
		DisableCompression:     true, // what a body costs while it expands is ours to bound
		MaxIdleConns:           l.Conns,
		MaxIdleConnsPerHost:    l.PerHost,
		MaxConnsPerHost:        l.PerHost,
		IdleConnTimeout:        idleConn,
		ResponseHeaderTimeout:  l.Head,
		MaxResponseHeaderBytes: maxHead,
		ForceAttemptHTTP2:      true,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     1 << 20,
			MaxReceiveBufferPerConnection: 8 << 20,
			SendPingTimeout:               15 * time.Second,
		},
	}
	if p.connect, err = d.leave(c.o.Proxy, p.transport); err != nil {
		return nil, err
	}
	p.life, p.finish = context.WithCancel(context.Background())
	return p, nil
}

// dial makes a connection that is closed with the pool.
func (p *pool) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.client.o.Limits.Connect)
	defer cancel()
	defer context.AfterFunc(p.life, cancel)()
	if err := p.client.slot(ctx); err != nil {
		return nil, err
	}
	conn, err := p.connect(ctx, network, address)
	if err != nil {
		<-p.client.slots
		return nil, err
	}
	return p.keep(conn)
}

// keep notes that a connection is open.
func (p *pool) keep(conn net.Conn) (net.Conn, error) {
	held := &pooled{Conn: conn, of: p}
	p.mu.Lock()
	closed := p.life.Err() != nil
	if !closed {
		p.open[held] = true
	}
	p.mu.Unlock()
	if closed {
		_ = held.Close()
		return nil, errClosed
	}
	return held, nil
}

// close closes all connections and makes no others.
func (p *pool) close() {
	p.mu.Lock()
	p.finish()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	p.transport.CloseIdleConnections()
	for conn := range open {
		_ = conn.Close() // it may have been the host's to close
	}
}

// pooled is a connection of a pool.
type pooled struct {
	net.Conn
	of   *pool
	once sync.Once
}

// Close gives the place of the connection back.
func (c *pooled) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.of.mu.Lock()
		delete(c.of.open, c)
		c.of.mu.Unlock()
		<-c.of.client.slots
	})
	return err
}

package egress

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
	"time"
)

// idleConnTimeout is how long an idle connection is kept.
const idleConnTimeout = time.Minute

// A pool has the connections that were made under one set of rules. They are not used
// under any other.
type pool struct {
	client    *Client
	rules     *rules
	transport *http.Transport
	dialFunc  dialFunc
	robots    *robotsCache

	uses    int // guarded by client.mu
	retired bool

	mu     sync.Mutex
	open   map[*pooledConn]bool
	ctx    context.Context
	cancel context.CancelFunc
}

func newPool(c *Client, r Rules) (*pool, error) {
	d, err := NewDialer(r, c.o.Resolver)
	if err != nil {
		return nil, err
	}
	l := c.o.Limits
	p := &pool{client: c, rules: d.rules, robots: newRobotsCache(), open: map[*pooledConn]bool{}}
	p.transport = &http.Transport{
		DialContext:            p.dial,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.o.Roots},
		TLSHandshakeTimeout:    l.Connect,
		DisableCompression:     true, // body decompresses, and limits what that costs
		MaxIdleConns:           l.Conns,
		MaxIdleConnsPerHost:    l.PerHost,
		MaxConnsPerHost:        l.PerHost,
		IdleConnTimeout:        idleConnTimeout,
		ResponseHeaderTimeout:  l.Head,
		MaxResponseHeaderBytes: maxHead,
		ForceAttemptHTTP2:      true,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     1 << 20,
			MaxReceiveBufferPerConnection: 8 << 20,
			SendPingTimeout:               15 * time.Second,
		},
	}
	if p.dialFunc, err = d.configureProxy(c.o.Proxy, p.transport); err != nil {
		return nil, err
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p, nil
}

// dial makes a connection that the pool closes when it is closed.
func (p *pool) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, p.client.o.Limits.Connect)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if err := p.client.acquireSlot(ctx); err != nil {
		return nil, err
	}
	conn, err := p.dialFunc(ctx, network, address)
	if err != nil {
		<-p.client.slots
		return nil, err
	}
	return p.track(conn)
}

// track registers an open connection.
func (p *pool) track(conn net.Conn) (net.Conn, error) {
	held := &pooledConn{Conn: conn, pool: p}
	p.mu.Lock()
	closed := p.ctx.Err() != nil
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

// close closes all connections. No new ones can be made.
func (p *pool) close() {
	p.mu.Lock()
	p.cancel()
	open := p.open
	p.open = nil
	p.mu.Unlock()
	p.transport.CloseIdleConnections()
	for conn := range open {
		_ = conn.Close() // the host may have closed it
	}
}

// pooledConn is a connection of a pool.
type pooledConn struct {
	net.Conn
	pool *pool
	once sync.Once
}

// Close closes the connection and releases its slot.
func (c *pooledConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.pool.mu.Lock()
		delete(c.pool.open, c)
		c.pool.mu.Unlock()
		<-c.pool.client.slots
	})
	return err
}

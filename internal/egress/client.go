package egress

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// ClientOptions configure a Client. The zero value reaches all public addresses.
type ClientOptions struct {
	// Profile returns the policy profile of the caller in ctx. nil: Caller.Profile.
	Profile func(ctx context.Context) string
	// Rules returns the rules of a profile. It is called once for each profile, and again
	// after Renew. It must not use the Client. nil: the zero Rules for all.
	Rules    func(profile string) (Rules, error)
	Resolver Resolver // nil: the system's
	// Proxy is the operator's proxy: http, https, socks5 or socks5h. Only with socks5
	// names are looked up and addresses checked here; the others look up names
	// themselves. nil: no proxy, even if the environment sets one.
	Proxy  *url.URL
	Roots  *x509.CertPool // certificate authorities; nil: the system's
	Agent  string         // the default User-Agent; "": mcp-tools
	Limits Limits
}

// Limits bound what hosts may cost. 0 is the default.
type Limits struct {
	Connect       time.Duration // for lookup and connection, and again for the TLS handshake; 10 s
	Head          time.Duration // until the response header; 20 s
	Stall         time.Duration // between two parts of a body; 20 s
	Conns         int           // to all hosts; 256
	PerHost       int           // to one host; 32
	PolitePerHost int           // concurrent polite requests of one caller to one host; 6
}

func (l Limits) withDefaults() Limits {
	return Limits{
		Connect:       cmp.Or(l.Connect, 10*time.Second),
		Head:          cmp.Or(l.Head, 20*time.Second),
		Stall:         cmp.Or(l.Stall, 20*time.Second),
		Conns:         cmp.Or(l.Conns, 256),
		PerHost:       cmp.Or(l.PerHost, 32),
		PolitePerHost: cmp.Or(l.PolitePerHost, 6),
	}
}

const (
	defaultTimeout = 30 * time.Second
	defaultAgent   = "mcp-tools"
)

// A Client sends requests to untrusted hosts, by the rules for each caller. It
// implements [outbound.Client] and may be used concurrently.
type Client struct {
	o        ClientOptions
	ctx      context.Context
	cancel   context.CancelCauseFunc
	slots    chan struct{} // one for each open connection
	throttle *throttle

	mu       sync.Mutex
	pools    map[string]*pool // by their rules
	profiles map[string]*pool // by profile
}

// NewClient returns a client without connections.
func NewClient(o ClientOptions) (*Client, error) {
	o.Limits = o.Limits.withDefaults()
	o.Agent = cmp.Or(o.Agent, defaultAgent)
	if o.Profile == nil {
		o.Profile = func(ctx context.Context) string { return tool.CallerFrom(ctx).Profile }
	}
	if o.Rules == nil {
		o.Rules = func(string) (Rules, error) { return Rules{}, nil }
	}
	c := &Client{o: o, slots: make(chan struct{}, o.Limits.Conns), throttle: newThrottle(o.Limits.PolitePerHost)}
	trial, err := newPool(c, Rules{}) // checks the proxy, which all pools share
	if err != nil {
		return nil, err
	}
	trial.close()
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.Renew()
	return c, nil
}

// Do sends a request and follows redirects. See [outbound.Client].
func (c *Client) Do(ctx context.Context, r outbound.Request) (*outbound.Answer, error) {
	x, err := newExchange(c, r)
	if err != nil {
		return nil, err
	}
	within := cmp.Or(r.Timeout, defaultTimeout)
	ctx, stop := context.WithTimeoutCause(ctx, within, &timeoutError{within})
	ctx, cancel := context.WithCancelCause(ctx)
	unhook := context.AfterFunc(c.ctx, func() { cancel(errClosed) })
	x.cancel = func(cause error) { unhook(); cancel(cause); stop() }
	answer, err := x.follow(ctx)
	if err != nil {
		if err = failure(ctx, x.at, err); len(x.via) > 0 {
			err = redirectError(x.from, err)
		}
		x.cancel(err)
		return nil, err
	}
	return answer, nil
}

// Check returns the error with which Do would refuse a request. See [outbound.Client].
func (c *Client) Check(ctx context.Context, r outbound.Request) error {
	x, err := newExchange(c, r)
	if err != nil {
		return err
	}
	p, err := c.pool(ctx)
	if err != nil {
		return err
	}
	defer c.release(p)
	return p.rules.checkLink(x.at)
}

// Renew makes the client fetch the rules again, before the next request. It closes idle
// connections that were made under the previous rules at once, the others when their
// responses have been read.
func (c *Client) Renew() {
	c.mu.Lock()
	old := c.pools
	c.pools, c.profiles = map[string]*pool{}, map[string]*pool{}
	var unused []*pool
	for _, p := range old {
		if p.retired = true; p.uses == 0 {
			unused = append(unused, p)
		}
	}
	c.mu.Unlock()
	for _, p := range old {
		p.transport.CloseIdleConnections()
	}
	for _, p := range unused {
		p.close()
	}
}

// Close ends all requests, including bodies that are being read, and closes all
// connections.
func (c *Client) Close() error {
	c.cancel(errClosed)
	c.mu.Lock()
	pools := c.pools
	c.pools, c.profiles = map[string]*pool{}, map[string]*pool{}
	c.mu.Unlock()
	for _, p := range pools {
		p.close()
	}
	return nil
}

// pool returns the pool for the caller in ctx. The caller of pool must release it.
func (c *Client) pool(ctx context.Context) (*pool, error) {
	profile := c.o.Profile(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, errClosed
	}
	p := c.profiles[profile]
	if p == nil {
		var err error
		if p, err = c.poolFor(profile); err != nil {
			return nil, err
		}
	}
	p.uses++
	return p, nil
}

// poolFor returns the pool for the rules of a profile, and creates it if necessary.
func (c *Client) poolFor(profile string) (*pool, error) {
	rules, err := c.o.Rules(profile)
	if err != nil {
		return nil, fmt.Errorf("the rules of profile %q: %w", profile, err)
	}
	key := fmt.Sprintf("%q %q %q %t %d", rules.Allow, rules.Deny, rules.AllowPrivate, rules.Benchmark, rules.Own)
	p := c.pools[key]
	if p == nil {
		if p, err = newPool(c, rules); err != nil {
			return nil, fmt.Errorf("the rules of profile %q: %w", profile, err)
		}
		c.pools[key] = p
	}
	c.profiles[profile] = p
	return p, nil
}

// release ends one use of a pool.
func (c *Client) release(p *pool) {
	c.mu.Lock()
	p.uses--
	unused := p.retired && p.uses == 0
	c.mu.Unlock()
	if unused {
		p.close()
	}
}

// acquireSlot waits until a connection may be opened. If there are too many, it closes
// the idle ones.
func (c *Client) acquireSlot(ctx context.Context) error {
	select {
	case c.slots <- struct{}{}:
		return nil
	default:
	}
	c.mu.Lock()
	var pools []*pool
	for _, p := range c.pools {
		pools = append(pools, p)
	}
	c.mu.Unlock()
	for _, p := range pools {
		p.transport.CloseIdleConnections()
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return tool.Errorf(tool.Busy, "too many connections are open").
			Try("try again soon").Because(ctx.Err())
	}
}

// errClosed is the error of requests that Close ends.
var errClosed = errors.New("the client is closed")

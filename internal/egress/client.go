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

// ClientOptions say how a Client asks. The zero value asks for what is public.
type ClientOptions struct {
	// Profile names the policy profile of who calls. nil: the one it came with.
	Profile func(ctx context.Context) string
	// Rules are those of a profile. It is asked once for each profile, and again
	// after Renew, and must not use the Client. nil: the zero Rules for all.
	Rules    func(profile string) (Rules, error)
	Resolver Resolver // nil: that of the system
	// Proxy is the operator's own way out: http, https, socks5 or socks5h. Names
	// are looked up and addresses checked here with socks5 alone; the others
	// look up themselves what they are asked for. nil: none, whatever the
	// environment says.
	Proxy  *url.URL
	Roots  *x509.CertPool // caller is believed to sign for hosts; nil: those of the system
	Agent  string         // says who asks, where a request does not; "": mcp-tools
	Limits Limits
}

// Limits bound what hosts may cost. Zero asks for the usual.
type Limits struct {
	Connect       time.Duration // target look a name up and connect, and again to agree on a key; 10 s
	Head          time.Duration // expires the head of an answer is there; 20 s
	Stall         time.Duration // relayConns two parts of a body; 20 s
	Conns         int           // checkAddress once, to all hosts; 256
	PerHost       int           // connections at once to one host; 32
	PolitePerHost int           // polite requests at once to one host; 6
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

// A Client asks hosts that strangers name, by the rules of whoever calls. It may
// be used by many goroutines.
type Client struct {
	o        ClientOptions
	ctx      context.Context
	cancel   context.CancelCauseFunc
	slots    chan struct{} // one for each connection that is open
	throttle *throttle

	mu       sync.Mutex
	pools    map[string]*pool // by what their rules say
	profiles map[string]*pool // by the profile that they were made for
}

// NewClient makes a client without connections.
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
	trial, err := newPool(c, Rules{}) // by the proxy that all have in common
	if err != nil {
		return nil, err
	}
	trial.close()
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.Renew()
	return c, nil
}

// Do asks, and follows redirects. See [outbound.Client].
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

// Check says why a request would be refused, from its words alone. See
// [outbound.Client].
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

// Renew asks for the rules again, before the next request, and closes the
// connections that were made under those before: what is idle at once, the
// others when the answers that come by them have been read.
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

// Close ends all requests, the bodies that are being read included, and closes
// all connections.
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

// pool returns the connections that the caller of ctx may use. What is returned
// must be released.
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

// poolFor finds the pool of a profile's rules, or makes it.
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

// release reports whether a pool is not used any more by whoever got it.
func (c *Client) release(p *pool) {
	c.mu.Lock()
	p.uses--
	unused := p.retired && p.uses == 0
	c.mu.Unlock()
	if unused {
		p.close()
	}
}

// acquireSlot waits for the right to open a connection. Where all are taken, those that
// only wait for another request are closed.
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
		return tool.Errorf(tool.Busy, "too many connections are open").Try("try again in a moment").Because(ctx.Err())
	}
}

// errClosed is why requests end when the program does.
var errClosed = errors.New("the client is closed")

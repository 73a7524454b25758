package egress

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
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
	Rules func(profile string) (Rules, error)
	// Own returns the dialer for ports that the commands of the caller in ctx listen on, or nil
	// if it may not run commands: then the rules decide about names of this machine as about
	// all others. A nil Own means that no caller may.
	Own      func(ctx context.Context) OwnDial
	Resolver Resolver // nil: the system's
	// Proxy is the operator's proxy: http, https, socks5 or socks5h. Only with socks5
	// names are looked up and addresses checked here; the others look up names
	// themselves. nil: no proxy, even if the environment sets one.
	Proxy  *url.URL
	Roots  *x509.CertPool // certificate authorities; nil: the system's
	Agent  string         // the default User-Agent; "": mcp-tools
	Limits Limits
}

// Limits bound the cost of hosts. 0 is the default.
type Limits struct {
	Connect time.Duration // for lookup and connection, and again for the TLS handshake; 10 s
	Head    time.Duration // until the response header; 20 s
	Stall   time.Duration // between two parts of a body; 20 s
}

const (
	defaultTimeout  = 30 * time.Second
	defaultAgent    = "mcp-tools"
	maxConnsPerHost = 32
	maxIdleConns    = 256
	idleConnTimeout = time.Minute
)

// A Client sends requests to untrusted hosts, by the rules for each caller. It
// implements [outbound.Client] and may be used concurrently.
type Client struct {
	o      ClientOptions
	ctx    context.Context
	cancel context.CancelCauseFunc
	pauses pauses

	mu       sync.Mutex
	pools    map[string]*pool // by their rules
	profiles map[string]*pool // by profile
}

// A pool has the connections that were made under one set of rules. They are not used
// under any other.
type pool struct {
	rules     *rules
	transport *http.Transport
}

// NewClient returns a client without connections.
func NewClient(o ClientOptions) (*Client, error) {
	o.Limits.Connect = cmp.Or(o.Limits.Connect, 10*time.Second)
	o.Limits.Head = cmp.Or(o.Limits.Head, 20*time.Second)
	o.Limits.Stall = cmp.Or(o.Limits.Stall, 20*time.Second)
	o.Agent = cmp.Or(o.Agent, defaultAgent)
	if o.Profile == nil {
		o.Profile = func(ctx context.Context) string { return tool.CallerFrom(ctx).Profile }
	}
	if o.Rules == nil {
		o.Rules = func(string) (Rules, error) { return Rules{}, nil }
	}
	c := &Client{o: o}
	if _, err := c.newPool(Rules{}); err != nil { // the proxy of all pools is invalid
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancelCause(context.Background())
	c.Renew()
	return c, nil
}

func (c *Client) newPool(r Rules) (*pool, error) {
	d, err := NewDialer(r, c.o.Resolver)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: c.o.Roots},
		TLSHandshakeTimeout:    c.o.Limits.Connect,
		DisableCompression:     true, // body decompresses, and limits the cost
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    maxConnsPerHost,
		MaxConnsPerHost:        maxConnsPerHost,
		IdleConnTimeout:        idleConnTimeout,
		ResponseHeaderTimeout:  c.o.Limits.Head,
		MaxResponseHeaderBytes: maxHead,
		ForceAttemptHTTP2:      true,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream:     1 << 20,
			MaxReceiveBufferPerConnection: 8 << 20,
			SendPingTimeout:               15 * time.Second,
		},
	}
	dial, err := d.configureProxy(c.o.Proxy, transport)
	if err != nil {
		return nil, err
	}
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, c.o.Limits.Connect)
		defer cancel()
		defer context.AfterFunc(c.ctx, cancel)()
		return dial(ctx, network, address)
	}
	return &pool{d.rules, transport}, nil
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

// Check returns the error if Do would refuse a request. See [outbound.Client].
func (c *Client) Check(ctx context.Context, r outbound.Request) error {
	x, err := newExchange(c, r)
	if err != nil {
		return err
	}
	p, err := c.pool(ctx)
	if err != nil {
		return err
	}
	if c.own(ctx, p.rules, x.at) != nil {
		return p.rules.checkOwn(x.at.target)
	}
	return p.rules.checkLink(x.at)
}

// Renew makes the client fetch the rules again, before the next request. Connections that
// were made under the previous rules are not used again.
func (c *Client) Renew() {
	c.mu.Lock()
	old := c.pools
	c.pools, c.profiles = map[string]*pool{}, map[string]*pool{}
	c.mu.Unlock()
	for _, p := range old {
		p.transport.CloseIdleConnections()
	}
}

// Close ends all requests, including bodies that are being read, and closes all
// connections.
func (c *Client) Close() error {
	c.cancel(errClosed)
	c.Renew()
	return nil
}

// pool returns the pool for the caller in ctx, and creates it if necessary.
func (c *Client) pool(ctx context.Context) (*pool, error) {
	profile := c.o.Profile(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, errClosed
	}
	if p := c.profiles[profile]; p != nil {
		return p, nil
	}
	rules, err := c.o.Rules(profile)
	if err != nil {
		return nil, fmt.Errorf("the rules of profile %q: %w", profile, err)
	}
	key := fmt.Sprintf("%q %q %q %d", rules.Allow, rules.Deny, rules.AllowPrivate, rules.Own)
	p := c.pools[key]
	if p == nil {
		if p, err = c.newPool(rules); err != nil {
			return nil, fmt.Errorf("the rules of profile %q: %w", profile, err)
		}
		c.pools[key] = p
	}
	c.profiles[profile] = p
	return p, nil
}

// errClosed is the error of requests that Close ends.
var errClosed = errors.New("the client is closed")

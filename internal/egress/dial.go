package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	socks "golang.org/x/net/proxy"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxAddresses = 8 // entry one name that are tried
	dialTimeout  = 15 * time.Second
	attemptDelay = 250 * time.Millisecond // entry one address before the next is tried, too
)

// A Resolver looks names up. net.Resolver is one.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Dialer connects to what its rules let through. It may be used by many
// goroutines.
type Dialer struct {
	rules     *rules
	resolver  Resolver
	proxyDial dialFunc // nil: the network of this machine
}

// dialFunc makes a connection to an address and a port that were checked.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// NewDialer reads rules. A nil resolver is that of the system.
func NewDialer(r Rules, resolver Resolver) (*Dialer, error) {
	rules, err := r.parse()
	if err != nil {
		return nil, err
	}
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return &Dialer{rules: rules, resolver: resolver}, nil
}

// DialContext connects to host:port as a stranger wrote it; network is tcp, tcp4
// or tcp6. It is what an http.Transport wants.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	t, err := ParseTarget(address)
	if err != nil {
		return nil, err
	}
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, tool.Errorf(tool.Invalid, "%q is no network for connections", network)
	}
	return d.dial(ctx, network, t)
}

// Dial connects to a target.
func (d *Dialer) Dial(ctx context.Context, t Target) (net.Conn, error) { return d.dial(ctx, "tcp", t) }

func (d *Dialer) dial(ctx context.Context, network string, t Target) (net.Conn, error) {
	if err := d.rules.checkName(t); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := d.lookup(ctx, network, t)
	if err != nil {
		return nil, err
	}
	return d.race(ctx, network, t, addresses)
}

// lookup returns the addresses of a target that may be reached.
func (d *Dialer) lookup(ctx context.Context, network string, t Target) ([]netip.Addr, error) {
	found := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		name := t.Host
		if !d.rules.isPrivate(t) {
			name += "." // or it is tried beneath the domains of this network, too
		}
		var err error
		if found, err = d.resolver.LookupNetIP(ctx, "ip"+network[len("tcp"):], name); err != nil {
			return nil, dialError(t, err)
		}
	}
	var open []netip.Addr
	var why error
	for _, a := range found {
		if err := d.rules.checkAddress(t, a); err != nil {
			why = err
		} else if len(open) < maxAddresses {
			open = append(open, a.Unmap())
		}
	}
	switch {
	case len(open) > 0:
		return interleave(open), nil
	case why != nil:
		return nil, why
	}
	return nil, dialError(t, errors.New("the name has no address"))
}

// interleave takes addresses of IPv4 and IPv6 by turns, beginning with the first.
func interleave(all []netip.Addr) []netip.Addr {
	var kinds [2][]netip.Addr
	for _, a := range all {
		i := 0
		if a.Is4() != all[0].Is4() {
			i = 1
		}
		kinds[i] = append(kinds[i], a)
	}
	out := make([]netip.Addr, 0, len(all))
	for i := range all {
		for _, kind := range kinds {
			if i < len(kind) {
				out = append(out, kind[i])
			}
		}
	}
	return out
}

// race tries addresses one after the other, each with a head start, until one
// answers. The others are closed.
func (d *Dialer) race(ctx context.Context, network string, t Target, addresses []netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	running := 0
	defer func() {
		cancel()
		for range running { // checkAddress once: they have been told to end
			if r := <-results; r.conn != nil {
				_ = r.conn.Close()
			}
		}
	}()
	to := d.dialFunc(t)
	var last error
	for {
		var next <-chan time.Time
		if len(addresses) > 0 {
			address := netip.AddrPortFrom(addresses[0], t.Port).String()
			addresses = addresses[1:]
			running++
			go func() {
				conn, err := to(ctx, network, address)
				results <- result{conn, err}
			}()
			next = time.After(attemptDelay)
		}
		if running == 0 {
			return nil, dialError(t, last)
		}
		select {
		case r := <-results:
			running--
			if r.err == nil {
				return r.conn, nil
			}
			last = r.err
		case <-next:
		}
	}
}

// dialFunc returns how the addresses of a target are connected to. What may be
// inside is not behind a proxy of the operator's.
func (d *Dialer) dialFunc(t Target) dialFunc {
	check := d.control(t)
	if d.proxyDial == nil || d.rules.isPrivate(t) {
		return (&net.Dialer{ControlContext: check, KeepAlive: 30 * time.Second}).DialContext
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := check(ctx, network, address, nil); err != nil {
			return nil, err
		}
		return d.proxyDial(ctx, network, address)
	}
}

// control checks what is about to be dialled, of each attempt.
func (d *Dialer) control(t Target) func(ctx context.Context, network, address string, _ syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || to.Port() != t.Port {
			return notPublicError(t.String())
		}
		return d.rules.checkAddress(t, to.Addr())
	}
}

// dialError puts into words why a target did not answer.
func dialError(t Target, err error) error {
	var known *tool.Error
	var name *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return tool.Errorf(tool.NotFound, "there is no host %q", t.Host).Try("check its name").Because(err)
	case errors.As(err, &name):
		return tool.Errorf(tool.Unavailable, "%q could not be looked up",
			t.Host).Try("try again in a moment").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "%q did not answer in time",
			t.String()).Try("try again later, or another host").Because(err)
	}
	return tool.Errorf(tool.Unavailable, "%q cannot be reached",
		t.String()).Try("check host and port, or try again later").Because(err)
}

// ThroughProxy returns a Dialer with the same rules whose connections are made by the
// operator's SOCKS5 proxy. Names are looked up and addresses checked here all the
// same: the proxy is asked for addresses alone.
func (d *Dialer) ThroughProxy(way *url.URL) (*Dialer, error) {
	if way.Scheme != "socks5" || way.Hostname() == "" {
		return nil, fmt.Errorf("the proxy %s is not socks5://host:port", way.Redacted())
	}
	var auth *socks.Auth
	if way.User != nil {
		password, _ := way.User.Password()
		auth = &socks.Auth{User: way.User.Username(), Password: password}
	}
	made, err := socks.SOCKS5("tcp", proxyAddress(way), auth, nil)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", way.Redacted(), err)
	}
	dialer, ok := made.(socks.ContextDialer)
	if !ok {
		return nil, fmt.Errorf("the proxy %s cannot be given up on", way.Redacted())
	}
	out := *d
	out.proxyDial = dialer.DialContext
	return &out, nil
}

// proxyAddress returns where a proxy listens, as http.Transport writes it, too.
func proxyAddress(way *url.URL) string {
	port := way.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[way.Scheme]
	}
	return net.JoinHostPort(way.Hostname(), port)
}

// configureProxy has a transport go out by the operator's proxy, if there is one. One of
// HTTP, and socks5h, is told names: it looks them up, and only what can be known
// of a name is checked here.
func (d *Dialer) configureProxy(way *url.URL, t *http.Transport) (dialFunc, error) {
	if way == nil {
		return d.DialContext, nil
	}
	switch way.Scheme {
	case "socks5":
		through, err := d.ThroughProxy(way)
		if err != nil {
			return nil, err
		}
		return through.DialContext, nil
	case "http", "https", "socks5h":
	default:
		return nil, fmt.Errorf("the proxy %s is not of http, https, socks5 or socks5h", way.Redacted())
	}
	if way.Hostname() == "" {
		return nil, fmt.Errorf("the proxy %s has no host", way.Redacted())
	}
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		l, err := newLink(r.URL)
		if err != nil || d.rules.isPrivate(l.target) {
			return nil, err
		}
		return way, nil
	}
	at := proxyAddress(way)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == at {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return d.DialContext(ctx, network, address)
	}, nil
}

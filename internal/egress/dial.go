package egress

import (
	"cmp"
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
	maxAddresses = 8 // of one name that are tried
	dialTimeout  = 15 * time.Second
	attemptDelay = 250 * time.Millisecond // before the next address is tried as well
)

// A Resolver looks up names. net.Resolver implements it.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Dialer connects to the targets that its rules allow. It may be used concurrently.
type Dialer struct {
	rules     *rules
	resolver  Resolver
	proxyDial dialFunc // nil to connect directly
}

// dialFunc connects to an address and port that have been checked.
type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// NewDialer returns a Dialer. If resolver is nil, it uses the system's.
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

// DialContext connects to host:port over TCP. It may be the DialContext of an
// http.Transport.
func (d *Dialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := ParseTarget(address)
	if err != nil {
		return nil, err
	}
	return d.Dial(ctx, t)
}

// Dial connects to a target.
func (d *Dialer) Dial(ctx context.Context, t Target) (net.Conn, error) {
	if err := d.rules.checkName(t); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, err := d.lookup(ctx, t)
	if err != nil {
		return nil, err
	}
	return d.race(ctx, t, addresses)
}

// lookup returns the addresses of a target that may be reached.
func (d *Dialer) lookup(ctx context.Context, t Target) ([]netip.Addr, error) {
	found := []netip.Addr{t.Addr}
	if !t.Addr.IsValid() {
		name := t.Host
		if !d.rules.isPrivate(t) {
			name += "." // so that the search domains of this network are not tried
		}
		var err error
		if found, err = d.resolver.LookupNetIP(ctx, "ip", name); err != nil {
			return nil, dialError(t, err)
		}
	}
	var open []netip.Addr
	why := dialError(t, errors.New("the name has no address"))
	for _, a := range found {
		if err := d.rules.checkAddress(t, a); err != nil {
			why = err
		} else if len(open) < maxAddresses {
			open = append(open, a.Unmap())
		}
	}
	if len(open) == 0 {
		return nil, why
	}
	return open, nil
}

// race tries addresses one after the other, each after attemptDelay, until one answers.
// It closes the other connections. See RFC 8305 (Happy Eyeballs).
func (d *Dialer) race(ctx context.Context, t Target, addresses []netip.Addr) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	running := 0
	defer func() {
		cancel()
		for range running { // they end soon: ctx is cancelled
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
				conn, err := to(ctx, "tcp", address)
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

// dialFunc returns the function that connects to the addresses of a target. Private
// targets are never reached through the operator's proxy.
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

// control returns a function that checks the address of each connection attempt.
func (d *Dialer) control(t Target) func(ctx context.Context, network, address string, _ syscall.RawConn) error {
	return func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || to.Port() != t.Port {
			return d.rules.notPublicError(t)
		}
		return d.rules.checkAddress(t, to.Addr())
	}
}

// dialError returns the error for a target that could not be reached.
func dialError(t Target, err error) error {
	var known *tool.Error
	var name *net.DNSError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &name) && name.IsNotFound:
		return tool.Errorf(tool.NotFound, "host %q not found", t.Host).
			Try("check its name").Because(err)
	case errors.As(err, &name):
		return tool.Errorf(tool.Unavailable, "%q could not be looked up", t.Host).
			Try("try again soon").Because(err)
	case errors.Is(err, context.DeadlineExceeded):
		return tool.Errorf(tool.Timeout, "%q did not answer in time", t.String()).
			Try("try again later, or another host").Because(err)
	}
	return tool.Errorf(tool.Unavailable, "%q cannot be reached", t.String()).
		Try("check host and port, or try again later").Because(err)
}

// ThroughProxy returns a Dialer with the same rules that connects through the operator's
// SOCKS5 proxy. It looks up names and checks addresses itself: the proxy gets only
// addresses.
func (d *Dialer) ThroughProxy(proxy *url.URL) (*Dialer, error) {
	if proxy.Scheme != "socks5" {
		return nil, fmt.Errorf("the proxy %s is not socks5://host:port", proxy.Redacted())
	}
	at := *proxy
	at.Host = proxyAddress(proxy)
	made, err := socks.FromURL(&at, nil)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", proxy.Redacted(), err)
	}
	out := *d
	out.proxyDial = made.(socks.ContextDialer).DialContext // the one of package socks implements it
	return &out, nil
}

// proxyAddress returns the address of a proxy in the form that http.Transport uses.
func proxyAddress(proxy *url.URL) string {
	ports := map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}
	return net.JoinHostPort(proxy.Hostname(), cmp.Or(proxy.Port(), ports[proxy.Scheme]))
}

// configureProxy makes a transport use the operator's proxy, if it is not nil. Proxies
// of HTTP and socks5h get names and look them up themselves, so that here only the name
// can be checked.
func (d *Dialer) configureProxy(proxy *url.URL, t *http.Transport) (dialFunc, error) {
	switch {
	case proxy == nil:
		return d.DialContext, nil
	case proxy.Hostname() == "":
		return nil, fmt.Errorf("the proxy %s has no host", proxy.Redacted())
	case proxy.Scheme == "socks5":
		through, err := d.ThroughProxy(proxy)
		if err != nil {
			return nil, err
		}
		return through.DialContext, nil
	case proxy.Scheme != "http" && proxy.Scheme != "https" && proxy.Scheme != "socks5h":
		return nil, fmt.Errorf("the scheme of the proxy %s is not http, https, socks5 or socks5h", proxy.Redacted())
	}
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		l, err := newLink(r.URL)
		if err != nil || d.rules.isPrivate(l.target) {
			return nil, err
		}
		return proxy, nil
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == proxyAddress(proxy) {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return d.DialContext(ctx, network, address)
	}, nil
}

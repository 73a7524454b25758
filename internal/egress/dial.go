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

// DialContext connects to host:port. network is tcp, tcp4 or tcp6. It may be the
// DialContext of an http.Transport.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	t, err := ParseTarget(address)
	if err != nil {
		return nil, err
	}
	switch network {
	case "tcp", "tcp4", "tcp6":
	default:
		return nil, tool.Errorf(tool.Invalid, "%q is not a network", network)
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
			name += "." // so that the search domains of this network are not tried
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

// interleave alternates IPv4 and IPv6 addresses, beginning with the kind of the first.
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

// race tries addresses one after the other, each after attemptDelay, until one answers.
// It closes the other connections. See RFC 8305 (Happy Eyeballs).
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
			return notPublicError(t.String())
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
		return nil, fmt.Errorf("the proxy %s does not support cancellation", way.Redacted())
	}
	out := *d
	out.proxyDial = dialer.DialContext
	return &out, nil
}

// proxyAddress returns the address of a proxy in the form that http.Transport uses.
func proxyAddress(way *url.URL) string {
	port := way.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[way.Scheme]
	}
	return net.JoinHostPort(way.Hostname(), port)
}

// configureProxy makes a transport use the operator's proxy, if way is not nil. Proxies
// of HTTP and socks5h get names and look them up themselves, so that here only the name
// can be checked.
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
		return nil, fmt.Errorf("the scheme of the proxy %s is not http, https, socks5 or socks5h", way.Redacted())
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

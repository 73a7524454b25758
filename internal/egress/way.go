package egress

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"

	socks "golang.org/x/net/proxy"
)

// Through returns a Dialer with the same rules whose connections are made by the
// operator's SOCKS5 proxy. Names are looked up and addresses checked here all the
// same: the proxy is asked for addresses alone.
func (d *Dialer) Through(way *url.URL) (*Dialer, error) {
	if way.Scheme != "socks5" || way.Hostname() == "" {
		return nil, fmt.Errorf("the proxy %s is not socks5://host:port", way.Redacted())
	}
	var auth *socks.Auth
	if way.User != nil {
		password, _ := way.User.Password()
		auth = &socks.Auth{User: way.User.Username(), Password: password}
	}
	made, err := socks.SOCKS5("tcp", wayAddress(way), auth, nil)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %w", way.Redacted(), err)
	}
	dialer, ok := made.(socks.ContextDialer)
	if !ok {
		return nil, fmt.Errorf("the proxy %s cannot be given up on", way.Redacted())
	}
	out := *d
	out.out = dialer.DialContext
	return &out, nil
}

// wayAddress is where a proxy listens, as http.Transport writes it, too.
func wayAddress(way *url.URL) string {
	port := way.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"}[way.Scheme]
	}
	return net.JoinHostPort(way.Hostname(), port)
}

// leave has a transport go out by the operator's proxy, if there is one. One of
// HTTP, and socks5h, is told names: it looks them up, and only what can be known
// of a name is checked here.
func (d *Dialer) leave(way *url.URL, t *http.Transport) (connect, error) {
	if way == nil {
		return d.DialContext, nil
	}
	switch way.Scheme {
	case "socks5":
		through, err := d.Through(way)
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
	at := wayAddress(way)
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		if address == at {
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		return d.DialContext(ctx, network, address)
	}, nil
}

package egress

import (
	"context"
	"net"
	"net/http"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// An OwnDial connects to a port that the commands of the caller in ctx listen on, in their
// sandbox. The names of this machine, such as localhost, lead to it: they never lead to this
// machine itself, unless AllowPrivate lists them.
type OwnDial func(ctx context.Context, port uint16) (net.Conn, error)

// isOwn reports whether a target belongs to the commands of a caller that has an OwnDial.
func (r *rules) isOwn(t Target) bool { return netaddr.IsThisMachine(t.Host) && !r.isPrivate(t) }

// checkOwn returns an error if the operator denies a target of the caller's commands.
func (r *rules) checkOwn(t Target) error {
	if matchesAny(r.deny, t) {
		return deniedError(t.String())
	}
	return nil
}

// own returns the OwnDial of the caller in ctx if a link belongs to the caller's commands;
// else nil.
func (c *Client) own(ctx context.Context, r *rules, l link) OwnDial {
	if c.o.Own == nil || !r.isOwn(l.target) {
		return nil
	}
	return c.o.Own(ctx)
}

// IsOwn reports whether a URL leads to a port of the commands of the caller in ctx.
func (c *Client) IsOwn(ctx context.Context, url string) bool {
	l, err := parseLink(url)
	if err != nil {
		return false
	}
	p, err := c.pool(ctx)
	return err == nil && c.own(ctx, p.rules, l) != nil
}

// checkOwnStep returns an error for a redirect between the caller's commands and other
// hosts. A page of a stranger must not send requests to them, and a command must not
// make this server send its data to a host that the command may not reach itself.
func (x *exchange) checkOwnStep(own bool) error {
	if len(x.via) == 0 {
		x.own = own
	}
	switch {
	case own == x.own:
		return nil
	case own:
		return tool.Errorf(tool.Refused, "%q belongs to this session, and redirects of other hosts may not lead to it",
			x.at.site()).Try("request this URL itself if you need it")
	}
	return tool.Errorf(tool.Refused, "redirects of this session's servers may not lead to %q", x.at.site()).
		Try("request this URL itself if you need it")
}

// ownTransport returns a transport for one exchange with the caller's commands. No other
// exchange uses its connections: it may be another caller's.
func (c *Client) ownTransport(dial OwnDial) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			t, err := ParseTarget(address)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, c.o.Limits.Connect)
			defer cancel()
			return dial(ctx, t.Port)
		},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		TLSHandshakeTimeout:    c.o.Limits.Connect,
		ResponseHeaderTimeout:  c.o.Limits.Head,
		MaxResponseHeaderBytes: maxHead,
	}
}

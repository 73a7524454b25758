package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/chat"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// refused returns the error that a response describes.
func (c *Client) refused(ctx context.Context, call Call, status int, header http.Header, body []byte) *chat.Error {
	e := c.o.Refused(status, header, body)
	e.Kind = cmp.Or(e.Kind, kindOf(status))
	if e.Kind == chat.Unknown && call.Safe {
		e.Kind = chat.Down
	}
	if wait, ok := outbound.RetryAfter(header.Get("Retry-After"), c.o.Now()); ok && e.After == 0 {
		e.After = wait
	}
	said := c.clean(ctx, e.Text)
	if status >= 300 && status < 400 {
		said = "it redirects to another address"
	}
	if said == "" {
		said = fmt.Sprintf("status %d", status)
	}
	return &chat.Error{Kind: e.Kind, After: e.After, Text: c.clean(ctx, c.o.Name+": "+said)}
}

// kindOf returns what a status means if the service says nothing else.
func kindOf(status int) chat.Kind {
	switch {
	case status == http.StatusTooManyRequests:
		return chat.Busy
	case status == http.StatusUnauthorized:
		return chat.Denied
	case status == http.StatusRequestTimeout, status == http.StatusInternalServerError,
		status == http.StatusBadGateway, status == http.StatusGatewayTimeout:
		return chat.Unknown // what has failed may have been behind the sending
	case status >= 500, status >= 300 && status < 400:
		return chat.Down
	}
	return chat.Refused
}

// lost returns the error for a response that cannot be used: the request may have had
// its effect.
func (c *Client) lost(call Call, format string, cause error) *chat.Error {
	e := &chat.Error{Kind: chat.Unknown, Text: fmt.Sprintf(format, c.o.Name), Cause: cause}
	if call.Safe {
		e.Kind = chat.Down
	}
	return e
}

// broken returns the error for a request that got no complete response.
func (c *Client) broken(ctx context.Context, call Call, err error) *chat.Error {
	var dial *net.OpError
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var known *tool.Error
	errors.As(err, &known)
	e := c.lost(call, "the connection to %s ended before the response", err)
	switch {
	case ctx.Err() != nil:
		e.Cause = context.Cause(ctx)
	case errors.Is(err, outbound.ErrTooLong):
		e.Text = "the response of " + c.o.Name + " is too large"
		if call.Safe {
			e.Kind = chat.Refused
		}
	case known != nil && known.Kind == tool.Refused:
		e.Kind, e.Text = chat.Refused, c.o.Name+" may not be reached"
	case errors.As(err, &name), errors.As(err, &certificate), errors.As(err, &dial) &&
		slices.ContainsFunc([]string{"dial", "connect"}, func(op string) bool { return strings.Contains(dial.Op, op) }):
		e.Kind, e.Text = chat.Down, c.o.Name+" cannot be reached"
	}
	if cause := e.Cause.Error(); c.clean(ctx, cause) != strings.Join(strings.Fields(cause), " ") {
		e.Cause = errors.New(c.clean(ctx, cause)) // it has the credential, or is too long
	}
	return e
}

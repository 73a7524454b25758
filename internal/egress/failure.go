package egress

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// timeoutError is the cause of a request that took too long.
type timeoutError struct{ within time.Duration }

func (e *timeoutError) Error() string { return "the request took more than " + e.within.String() }

// errStalled is the cause of a body that stopped arriving.
var errStalled = errors.New("the body stopped arriving")

// transportError is an error of the connection to a host.
type transportError struct{ error }

func (e *transportError) Unwrap() error { return e.error }

// failure returns the error that a model sees for a failed request.
func failure(ctx context.Context, at link, err error) error {
	var known *tool.Error
	var late *timeoutError
	var wire *transportError
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, errClosed) || errors.Is(err, errClosed):
		return tool.Errorf(tool.Unavailable, "the server is stopping").Because(err)
	case errors.As(err, &known):
		return known
	case errors.As(cause, &late):
		return tool.Errorf(tool.Timeout, "%q did not complete within %s", at.site(),
			late.within).Try("request less, increase the timeout, or try again later").Because(err)
	case errors.Is(cause, errStalled):
		return tool.Errorf(tool.Timeout, "%q stopped sending", at.site()).
			Try("try again later").Because(err)
	case cause != nil:
		return tool.AsError(cause)
	case errors.As(err, &wire):
		return transportFailure(at, wire.error)
	}
	return tool.AsError(err)
}

// transportFailure returns the error for an error of the transport.
func transportFailure(at link, err error) error {
	site, text := at.site(), err.Error()
	var timeout net.Error
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(text, part) })
	}
	what, next := "%q cannot be reached", "check its name, or try again later"
	switch reason := tlsReason(err); {
	case reason != "":
		what, next = "%q has no secure connection: "+reason, "use another host, or http if nothing secret is in it"
	case errors.As(err, &timeout) && timeout.Timeout():
		return tool.Errorf(tool.Timeout, "%q did not answer in time", site).
			Try("try again later").Because(err)
	case has("headers exceeded", "header list larger", "1xx"):
		return tool.Errorf(tool.TooLarge, "the response header of %q is too large", site).
			Try("use another URL").Because(err)
	case has("malformed", "HTTP/1.x transport connection broken", "HTTP response to HTTPS", "PROTOCOL_ERROR",
		"COMPRESSION_ERROR", "unsupported transfer encoding", "too many transfer encodings"):
		what, next = "the response of %q is not valid HTTP", "check the port, and whether it uses https or http"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		has("connection reset", "server closed idle connection"):
		what, next = "%q closed the connection without a response",
			"try again, or check whether it uses https or http"
	}
	return tool.Errorf(tool.Unavailable, what, site).Try("%s", next).Because(err)
}

// tlsReason returns why a connection is not secure, or "" for other errors.
func tlsReason(err error) string {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &name):
		return "its certificate is for another host"
	case errors.As(err, &authority):
		return "its certificate is signed by an unknown authority"
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "its certificate has expired, or is not valid yet"
	case errors.As(err, &record):
		return "the port does not use TLS"
	case strings.Contains(err.Error(), "tls: "):
		return "the TLS handshake failed"
	}
	return ""
}

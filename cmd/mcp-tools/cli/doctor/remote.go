package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/version"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/text"
	"github.com/mcp-tools/mcp-tools/tools/bridge/upstream"
)

// ExamineURL checks a running server as a client sees it: its address, its certificate, the
// token, and its list of tools. token is "" for none.
func ExamineURL(ctx context.Context, address, token string) []room.Finding {
	ctx, cancel := context.WithTimeout(ctx, longestStart)
	defer cancel()
	c := &checkup{ctx: ctx}
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || (at.Scheme != "http" && at.Scheme != "https") {
		c.fail("address", "give an address such as https://host/mcp", "%q is not an address", address)
		return c.found.List
	}
	if c.checkReachable(at) {
		c.checkAnonymous(at)
		c.checkRemoteTools(address, token)
	}
	return c.found.List
}

// checkReachable checks the connection, the certificate and /readyz.
func (c *checkup) checkReachable(at *url.URL) bool {
	ready := *at
	ready.Path, ready.RawQuery = "/readyz", ""
	begin := time.Now()
	status, body, state, err := get(c.ctx, ready.String())
	if err != nil {
		advice := "start it with mcp-tools serve --http ADDR, or correct the address"
		if _, wrong := errors.AsType[*tls.CertificateVerificationError](err); wrong {
			advice = "use a certificate that this machine trusts, for this name"
		}
		if wrapped, ok := errors.AsType[*url.Error](err); ok {
			err = wrapped.Err // the address is in the message already
		}
		c.fail("address", advice, "%s does not answer: %v", at.Host, err)
		return false
	}
	took := time.Since(begin).Round(time.Millisecond)
	if status != http.StatusOK {
		c.fail("address", "read the log of the server; behind a proxy, check that it forwards /readyz",
			"%s answers %d: %s", ready.Redacted(), status, body)
	} else {
		c.ok("address", "%s is ready, it answered in %s", at.Host, took)
	}
	host := at.Hostname()
	switch {
	case state != nil:
		c.checkValidity("tls", state.PeerCertificates[0], time.Now())
	case !netaddr.IsLoopbackAddress(net.JoinHostPort(host, "0")):
		c.warn("tls", "use a proxy with TLS, or --tls-cert and --tls-key",
			"the address has no TLS, so tokens are sent in plain text")
	}
	return true
}

// checkAnonymous checks that the server wants a token.
func (c *checkup) checkAnonymous(at *url.URL) {
	status, _, _, err := get(c.ctx, at.String())
	switch {
	case err != nil:
		c.fail("token", "try again", "%v", err)
	case status == http.StatusUnauthorized:
		c.ok("token", "requests without a token are refused")
	default:
		c.warn("token", "create a token with mcp-tools token create",
			"a request without a token got the status %d instead of 401", status)
	}
}

func (c *checkup) checkRemoteTools(address, token string) {
	const check = "tools"
	if token == "" {
		c.warn(check, "name the environment variable with your token: --token-env MCP_TOOLS_TOKEN",
			"not checked, because there is no token")
		return
	}
	switch count, took, err := TryURL(c.ctx, address, token); {
	case err != nil && strings.Contains(err.Error(), "403"):
		c.fail(check, "use a profile that the token allows: /mcp/PROFILE", "%v", err)
	case err != nil:
		c.fail(check, "check the token with mcp-tools token list on the server's machine", "%v", err)
	default:
		c.ok(check, "%s in %s", text.Plural(count, "tool"), took.Round(time.Millisecond))
	}
}

// get sends a request without a token, and returns the start of the response.
func get(ctx context.Context, address string) (int, string, *tls.ConnectionState, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0, "", nil, err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 200))
	err = errors.Join(err, response.Body.Close())
	return response.StatusCode, strings.TrimSpace(string(body)), response.TLS, err
}

// TryURL asks a running server for its tools, and returns their number and the time that took.
func TryURL(ctx context.Context, address, token string) (count int, took time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, longestStart)
	defer cancel()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	begin := time.Now()
	conn, err := upstream.Dial(ctx, upstream.Client{Name: "mcp-tools doctor", Version: version.This().Version},
		upstream.HTTP{URL: address, Header: header, Transport: http.DefaultTransport}, false)
	if err != nil {
		return 0, 0, fmt.Errorf("connecting to %s: %w", address, err)
	}
	list, err := conn.List(ctx, "tools/list", "tools", 10_000)
	return len(list), time.Since(begin), errors.Join(err, conn.Close())
}

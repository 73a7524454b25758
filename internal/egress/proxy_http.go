package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/textproto"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// request serves one HTTP request, and reports whether another may follow on the same
// connection.
func (p *Proxy) request(ctx context.Context, c *clientConn) (more bool) {
	began := time.Now()
	r, err := http.ReadRequest(c.in)
	if err != nil {
		if errors.Is(err, errHeadTooLarge) {
			p.writeError(c, Target{}, tool.Errorf(tool.TooLarge, "the request header has more than %d bytes",
				maxHead))
		} else if !errors.Is(err, io.EOF) {
			p.writeError(c, Target{}, tool.Errorf(tool.Invalid, "this is not an HTTP request"))
		}
		return false
	}
	c.endHead()
	t, err := requestTarget(r)
	if err != nil {
		p.report(ProxyEvent{Err: err, Started: began})
		p.writeError(c, t, err)
		return false
	}
	if r.Method == http.MethodConnect {
		p.tunnel(ctx, c, t, began)
		return false
	}
	return p.forward(ctx, c, r, t, began)
}

// requestTarget returns the target of a request.
func requestTarget(r *http.Request) (Target, error) {
	if r.Method == http.MethodConnect {
		return ParseTarget(r.RequestURI)
	}
	switch {
	case r.URL.Scheme == "" || r.URL.Host == "":
		return Target{}, tool.Errorf(tool.Invalid, "a request to a proxy needs a complete URL").
			Try("set http_proxy, and do not use it as a server")
	case r.URL.Scheme != "http":
		return Target{}, tool.Errorf(tool.Refused, "the scheme %q is not supported", r.URL.Scheme).
			Try("use http, or CONNECT for https")
	case r.URL.User != nil:
		return Target{}, tool.Errorf(tool.Refused, "the URL contains a user").
			Try("send credentials in a header")
	}
	port := r.URL.Port()
	if port == "" {
		port = "80"
	}
	host := r.URL.Hostname()
	if strings.Contains(host, ":") != strings.HasPrefix(r.URL.Host, "[") {
		return Target{}, invalidTarget(r.URL.Host, "is not host:port")
	}
	return NewTarget(host, port)
}

// tunnel serves CONNECT.
func (p *Proxy) tunnel(ctx context.Context, c *clientConn, t Target, began time.Time) {
	upstream, err := p.connect(ctx, t, began)
	if err != nil {
		p.writeError(c, t, err)
		return
	}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = upstream.Close()
		p.report(ProxyEvent{Target: t, Err: err, Started: began})
		return
	}
	v := ProxyEvent{Target: t, Started: began}
	v.Sent, v.Received = relayConns(ctx, c, upstream)
	p.report(v)
}

// forward forwards a request and its response.
func (p *Proxy) forward(ctx context.Context, c *clientConn, r *http.Request, t Target, began time.Time) (more bool) {
	v := ProxyEvent{Target: t, Started: began}
	defer func() { p.report(v) }()
	bodyless := r.ContentLength == 0 && len(r.TransferEncoding) == 0
	again := bodyless && !r.Close && r.ProtoAtLeast(1, 1) && !hasToken(r.Header["Proxy-Connection"], "close")
	body := &countingBody{in: r.Body}
	out := forwardedRequest(ctx, r, t, body)
	if bodyless {
		out.Body = http.NoBody
	} else if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
		if _, v.Err = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n"); v.Err != nil {
			return false
		}
	}
	res, err := p.transport.RoundTrip(out)
	v.Sent = body.n.Load()
	if err == nil && res.StatusCode < http.StatusOK { // it switches to another protocol
		err = errors.Join(errors.New("the host switched to another protocol"), res.Body.Close())
	}
	if err != nil {
		v.Err = dialError(t, err)
		p.writeError(c, t, v.Err)
		return false
	}
	defer res.Body.Close()
	v.Received, err = c.writeResponse(res, r, &again)
	v.Sent = body.n.Load()
	return again && err == nil
}

// forwardedRequest returns the request for the host.
func forwardedRequest(ctx context.Context, r *http.Request, t Target, body io.ReadCloser) *http.Request {
	header := r.Header.Clone()
	dropHopHeaders(header)
	header.Del("Expect")
	if _, says := header["User-Agent"]; !says {
		header["User-Agent"] = nil // otherwise Go adds its own
	}
	u := *r.URL
	u.Host, u.Fragment = t.String(), ""
	out := &http.Request{Method: r.Method, URL: &u, Header: header, Body: body, ContentLength: r.ContentLength,
		Host: strings.TrimSuffix(u.Host, ":80")}
	return out.WithContext(ctx)
}

// dropHopHeaders removes the header fields that are for one connection only.
func dropHopHeaders(h http.Header) {
	for _, line := range h["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{"Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade"} {
		delete(h, name)
	}
}

func hasToken(lines []string, token string) bool {
	for _, line := range lines {
		for word := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(textproto.TrimString(word), token) {
				return true
			}
		}
	}
	return false
}

// writeResponse writes the response of a host. It sets again to false if the client can
// recognize the end of the response only by the end of the connection.
func (c *clientConn) writeResponse(res *http.Response, r *http.Request, again *bool) (n int64, err error) {
	bare := r.Method == http.MethodHead || res.StatusCode == http.StatusNoContent ||
		res.StatusCode == http.StatusNotModified
	chunked := !bare && res.ContentLength < 0 && r.ProtoAtLeast(1, 1)
	if !bare && res.ContentLength < 0 && !chunked {
		*again = false
	}
	dropHopHeaders(res.Header)
	var head bytes.Buffer
	fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", res.StatusCode, http.StatusText(res.StatusCode))
	if !bare {
		res.Header.Del("Content-Length")
	}
	if chunked {
		res.Header.Set("Transfer-Encoding", "chunked")
	} else if !bare && res.ContentLength >= 0 {
		res.Header.Set("Content-Length", strconv.FormatInt(res.ContentLength, 10))
	}
	if !*again {
		res.Header.Set("Connection", "close")
	}
	if err := res.Header.Write(&head); err != nil {
		return 0, err
	}
	head.WriteString("\r\n")
	out := deadlineWriter{c}
	if _, err := out.Write(head.Bytes()); err != nil || bare {
		return 0, err
	}
	if !chunked {
		return io.CopyBuffer(out, res.Body, make([]byte, bufferSize))
	}
	chunks := httputil.NewChunkedWriter(out)
	if n, err = io.CopyBuffer(chunks, res.Body, make([]byte, bufferSize)); err != nil {
		return n, err
	}
	if err := chunks.Close(); err != nil {
		return n, err
	}
	_, err = io.WriteString(out, "\r\n")
	return n, err
}

// deadlineWriter sets a deadline for each write.
type deadlineWriter struct{ c *clientConn }

func (s deadlineWriter) Write(b []byte) (int, error) {
	_ = s.c.SetWriteDeadline(time.Now().Add(s.c.idle))
	return s.c.Conn.Write(b)
}

// countingBody counts the bytes of a body.
type countingBody struct {
	in io.Reader
	n  atomic.Int64
}

func (b *countingBody) Read(to []byte) (int, error) {
	n, err := b.in.Read(to)
	b.n.Add(int64(n))
	return n, err
}

// Close does not read the rest, which may be endless. The connection is not reused.
func (b *countingBody) Close() error { return nil }

// writeError sends an error response, with the error as its body unless OnRefused is set.
func (p *Proxy) writeError(c *clientConn, t Target, err error) {
	status, text := statusOf(err), tool.AsError(err).Error()+"\n"
	if p.o.OnRefused != nil {
		p.o.OnRefused(t, err)
		text = ""
	}
	_ = c.SetWriteDeadline(time.Now().Add(headTimeout))
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), len(text), text) // the client may have disconnected
}

func statusOf(err error) int {
	switch tool.AsError(err).Kind {
	case tool.Refused:
		return http.StatusForbidden
	case tool.Invalid:
		return http.StatusBadRequest
	case tool.TooLarge:
		return http.StatusRequestHeaderFieldsTooLarge
	case tool.Timeout:
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

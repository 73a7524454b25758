package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxHead            = 64 << 10         // maximum size of a request header
	headTimeout        = 15 * time.Second // to receive it
	defaultIdleTimeout = 10 * time.Minute // of a connection without traffic
)

// ProxyOptions configure a Proxy.
type ProxyOptions struct {
	Dialer *Dialer
	// Allow returns an error if a program may not connect to a target that the rules of
	// the Dialer allow. It may wait. It is called concurrently, once for each connection
	// or HTTP request. nil: all are allowed.
	Allow func(ctx context.Context, to Target) error
	// Own connects to ports that commands of the proxy's user listen on. The names of this
	// machine lead there. nil: the rules of the Dialer decide about them.
	Own OwnDial
	// Sites answer the requests to hosts that exist only in this proxy, by host.
	Sites       map[string]http.Handler
	IdleTimeout time.Duration // closes a connection without traffic
	// OnRefused is called with the reason before a request is refused. The response then
	// has no body, because a browser would show it as if it came from the page. nil: the
	// body has the reason. It is called concurrently.
	OnRefused func(to Target, err error)
	Log       *slog.Logger // nil: no log
}

// A Proxy makes a Dialer available to programs over HTTP, with and without CONNECT. It
// looks up all names.
type Proxy struct {
	o         ProxyOptions
	transport *http.Transport
}

// NewProxy returns a proxy. Serve starts it.
func NewProxy(o ProxyOptions) *Proxy {
	o.IdleTimeout = cmp.Or(o.IdleTimeout, defaultIdleTimeout)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	p := &Proxy{o: o}
	p.transport = &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			to, err := ParseTarget(address)
			if err != nil {
				return nil, err
			}
			return p.dial(ctx, to)
		},
		DisableCompression:     true, // the client decides about compression
		MaxIdleConns:           maxIdleConns,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        time.Minute,
		ResponseHeaderTimeout:  o.IdleTimeout,
		MaxResponseHeaderBytes: maxHead,
	}
	return p
}

func (p *Proxy) isOwn(to Target) bool { return p.o.Own != nil && p.o.Dialer.rules.isOwn(to) }

// check returns an error if a program may not connect to a target.
func (p *Proxy) check(ctx context.Context, to Target) error {
	if p.isOwn(to) {
		return p.o.Dialer.rules.checkOwn(to)
	}
	if err := p.o.Dialer.rules.checkName(to); err != nil || p.o.Allow == nil {
		return err
	}
	return p.o.Allow(ctx, to)
}

func (p *Proxy) dial(ctx context.Context, to Target) (net.Conn, error) {
	if p.isOwn(to) {
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		return p.o.Own(ctx, to.Port)
	}
	return p.o.Dialer.Dial(ctx, to)
}

// Serve serves connections until ctx ends, and then closes l and all connections.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer p.transport.CloseIdleConnections()
	server := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(ctx, w, r) }),
		BaseContext:       func(net.Listener) context.Context { return ctx },
		MaxHeaderBytes:    maxHead,
		ReadHeaderTimeout: headTimeout,
		IdleTimeout:       p.o.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(p.o.Log.Handler(), slog.LevelDebug),
	}
	defer context.AfterFunc(ctx, func() { _ = server.Close() })()
	err := server.Serve(l)
	if ctx.Err() != nil {
		return nil
	}
	return errors.Join(err, server.Close())
}

// serve serves one request of a program. ctx ends with the proxy.
func (p *Proxy) serve(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	to, err := requestTarget(r)
	site := p.o.Sites[to.Host]
	if err == nil && site == nil {
		err = p.check(r.Context(), to)
	}
	switch {
	case site != nil && r.Method != http.MethodConnect:
		site.ServeHTTP(w, r)
	case site != nil:
		p.refuse(w, r, to, tool.Errorf(tool.Refused, "%q has no https", to.Host).Try("use http"))
	case err != nil:
		p.refuse(w, r, to, err)
	case r.Method == http.MethodConnect:
		p.tunnel(ctx, w, r, to)
	default:
		p.forward(w, r, to)
	}
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
	return urlTarget(r.URL)
}

// refuse sends an error response, with the error as its body unless OnRefused is set.
// Many programs show only the reason in the first line of a response to CONNECT, so the
// error is also there.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, to Target, err error) {
	p.o.Log.Debug("a program could not connect", "to", to.String(), "err", err)
	w.Header().Set("Connection", "close")
	status := http.StatusBadGateway
	switch tool.AsError(err).Kind {
	case tool.Refused:
		status = http.StatusForbidden
	case tool.Invalid:
		status = http.StatusBadRequest
	case tool.Timeout:
		status = http.StatusGatewayTimeout
	}
	if p.o.OnRefused != nil {
		p.o.OnRefused(to, err)
		w.WriteHeader(status)
		return
	}
	text := tool.AsError(err).Error()
	if r.Method == http.MethodConnect {
		if client, _, err := http.NewResponseController(w).Hijack(); err == nil {
			defer client.Close()
			_, _ = fmt.Fprintf(client, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
				"Content-Length: %d\r\nConnection: close\r\n\r\n%s", // the client may have disconnected
				status, unprintable.ReplaceAllString(text, " "), len(text), text)
			return
		}
	}
	http.Error(w, text, status)
}

var unprintable = regexp.MustCompile(`[^ -~]+`)

// tunnel serves CONNECT. The context of the request may end when the client has sent
// everything, so the connection lasts until ctx ends.
func (p *Proxy) tunnel(ctx context.Context, w http.ResponseWriter, r *http.Request, to Target) {
	upstream, err := p.dial(r.Context(), to)
	if err != nil {
		p.refuse(w, r, to, err)
		return
	}
	defer upstream.Close()
	client, in, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return // the client has disconnected
	}
	defer client.Close()
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	p.o.Log.Debug("a program connected", "to", to.String())
	p.relay(ctx, client, in.Reader, upstream)
}

// relay copies bytes in both directions until both sides have ended, ctx ends, or
// nothing was copied for the idle time. in reads from client.
func (p *Proxy) relay(ctx context.Context, client net.Conn, in io.Reader, upstream net.Conn) {
	end := func() {
		_ = client.Close()
		_ = upstream.Close()
	}
	defer context.AfterFunc(ctx, end)()
	idle := time.AfterFunc(p.o.IdleTimeout, end)
	defer idle.Stop()
	copyAll := func(to net.Conn, from io.Reader) {
		_, err := io.Copy(to, readerFunc(func(b []byte) (int, error) {
			n, err := from.Read(b)
			idle.Reset(p.o.IdleTimeout)
			return n, err
		}))
		half, ok := to.(interface{ CloseWrite() error })
		if err != nil || !ok || half.CloseWrite() != nil {
			end()
		}
	}
	var both sync.WaitGroup
	both.Go(func() { copyAll(upstream, in) })
	both.Go(func() { copyAll(client, upstream) })
	both.Wait()
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// forward forwards a request and its response.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, to Target) {
	forwarder := httputil.ReverseProxy{
		Rewrite:       func(pr *httputil.ProxyRequest) { rewrite(pr, to) },
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			p.refuse(w, r, to, dialError(to, err))
		},
		ErrorLog: slog.NewLogLogger(p.o.Log.Handler(), slog.LevelDebug),
	}
	p.o.Log.Debug("a program sends a request", "to", to.String())
	forwarder.ServeHTTP(w, r)
}

// rewrite prepares the request for the host.
func rewrite(r *httputil.ProxyRequest, to Target) {
	r.Out.URL.Host, r.Out.URL.RawQuery = to.String(), r.In.URL.RawQuery
	r.Out.Host = strings.TrimSuffix(to.String(), ":80")
	r.Out.Header.Del("Expect") // this proxy has answered it
}

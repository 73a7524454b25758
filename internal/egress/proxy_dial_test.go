package egress_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// operators returns an HTTP proxy that responds itself, and records its requests.
func operators(t *testing.T) (way *url.URL, asked func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		all = append(all, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		if r.Method == http.MethodConnect {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, "by proxy")
	}))
	t.Cleanup(server.Close)
	way, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	way.User = url.UserPassword("me", "pass")
	return way, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return all
	}
}

func TestOperatorsProxy(t *testing.T) {
	way, asked := operators(t)
	n := egresstest.New(t, nil)
	local := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "directly")
	}))
	defer local.Close()
	rules := egress.Rules{AllowPrivate: []string{local.Listener.Addr().String()}, Deny: []string{"denied.example.org"}}
	c := newClientConn(t, egress.ClientOptions{Resolver: n, Proxy: way,
		Rules: func(string) (egress.Rules, error) { return rules, nil }})
	for url, want := range map[string]string{"http://www.example.org/": "by proxy", local.URL: "directly"} {
		if _, text, err := get(t.Context(), c, outbound.Request{URL: url}); err != nil || text != want {
			t.Errorf("%s: %q, %v", url, text, err)
		}
	}
	for url, want := range map[string]tool.Kind{
		"https://www.example.org/": tool.Unavailable, "http://denied.example.org/": tool.Refused,
		"http://localhost/": tool.Refused, "http://10.0.0.1/": tool.Refused,
		"http://metadata.google.internal/": tool.Refused, "http://0x7f.1/": tool.Invalid, "http://" + way.Host +
			"/": tool.Refused,
	} {
		_, _, err := get(t.Context(), c, outbound.Request{URL: url})
		if kind(err) != want || strings.Contains(err.Error(), way.Host) && !strings.Contains(url, way.Host) ||
			strings.Contains(err.Error(), "pass") {
			t.Errorf("%s: %v", url, err)
		}
	}
	got := strings.Join(asked(), ", ")
	if len(asked()) != 2 || !strings.Contains(got, "GET www.example.org Basic bWU6cGFzcw==") ||
		!strings.Contains(got, "CONNECT www.example.org:443 Basic bWU6cGFzcw==") {
		t.Errorf("the proxy was asked %s", got)
	}
	if len(n.Lookups()) > 0 {
		t.Errorf("looked up here: %q", n.Lookups())
	}
}

// TestSocksIsAskedForAddresses checks that the proxy gets only public addresses.
func TestSocksIsAskedForAddresses(t *testing.T) {
	c, n := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "x")
	}, "www.example.org")
	n.Resolve("inside.example.org", "10.0.0.1 127.0.0.1 ::1")
	n.Resolve("mixed.example.org", "10.0.0.1 "+n.Address("www.example.org"))
	for url, want := range map[string]tool.Kind{"www.example.org": "", "mixed.example.org": "",
		"inside.example.org": tool.Refused, "127.0.0.1": tool.Refused, "[::ffff:10.0.0.1]": tool.Invalid} {
		if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://" + url}); kind(err) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, at := range n.Dialed() {
		if at != n.Address("www.example.org")+":80" {
			t.Errorf("it was asked for %s", at)
		}
	}
}

func TestInvalidProxies(t *testing.T) {
	for _, text := range []string{"ftp://proxy:1", "//proxy:1", "http:///", "socks5://", "socks4://x:1"} {
		way, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		way.User = url.UserPassword("me", "canary")
		if _, err := egress.NewClient(egress.ClientOptions{Proxy: way}); err == nil ||
			strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", text, err)
		}
	}
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	t.Setenv("ALL_PROXY", "http://127.0.0.1:1")
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "x")
	}, "www.example.org")
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org/"}); err != nil {
		t.Errorf("a proxy of the environment: %v", err)
	}
}

// TestDialerServesAProxy serves a browser's proxy with a dialer through a SOCKS5 proxy.
func TestDialerServesAProxy(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "page")
	}))
	defer server.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := egress.NewProxy(egress.ProxyOptions{Dialer: egresstest.Dialer(t,
		map[string]*httptest.Server{"www.example.org": server})})
	var serving sync.WaitGroup
	serving.Go(func() { _ = p.Serve(t.Context(), l) })
	defer serving.Wait()
	defer l.Close()
	for host, want := range map[string]string{"www.example.org": "200", "127.0.0.1": "403", "none.example.org": "502"} {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, "GET http://"+host+"/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil || !strings.Contains(line, want) {
			t.Errorf("%s: %q, %v", host, line, err)
		}
		_ = conn.Close()
	}
}

package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func readAll(ctx context.Context, c *Client, r outbound.Request) (string, error) {
	a, err := c.Do(ctx, r)
	if err != nil {
		return "", err
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	return string(text), err
}

// TestProfileOfTheCaller checks that the default profile is that of the caller.
func TestProfileOfTheCaller(t *testing.T) {
	c := asker(t, ClientOptions{Rules: func(profile string) (Rules,
		error) {
		return Rules{Deny: []string{profile + ".example.org"}}, nil
	}, Resolver: &names{}})
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Profile: "small"}})
	for host, want := range map[string]tool.Kind{"small.example.org": tool.Refused,
		"large.example.org": tool.NotFound} {
		if _, err := readAll(ctx, c, outbound.Request{URL: "http://" + host}); kindOf(err) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestRenewWhileReading checks that Renew does not interrupt a body, and that the next
// request is under the new rules.
func TestRenewWhileReading(t *testing.T) {
	more := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "begin, ")
		_ = http.NewResponseController(w).Flush()
		<-more
		_, _ = io.WriteString(w, "end")
	}))
	defer server.Close()
	rules := Rules{AllowPrivate: []string{server.Listener.Addr().String()}}
	c := asker(t, ClientOptions{Rules: func(string) (Rules, error) { return rules, nil }})
	a, err := c.Do(t.Context(), outbound.Request{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	rules = Rules{}
	c.Renew()
	close(more)
	if text, err := io.ReadAll(a.Body); string(text) != "begin, end" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := a.Body.Close(); err != nil {
		t.Error(err)
	}
	if _, err := readAll(t.Context(), c, outbound.Request{URL: server.URL}); kindOf(err) != tool.Refused {
		t.Error(err)
	}
}

// TestCloseClosesConnections counts the connections that are open after Close.
func TestCloseClosesConnections(t *testing.T) {
	var open atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 100<<10))
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
		}
	}
	server.Start()
	defer server.Close()
	c := asker(t, ruled(Rules{AllowPrivate: []string{server.Listener.Addr().String()}}, nil))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.Do(t.Context(), outbound.Request{URL: server.URL}); err != nil { // not closed
				t.Error(err)
			}
		})
	}
	all.Wait()
	if open.Load() == 0 {
		t.Error("nothing is open")
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	for late := time.Now().Add(time.Minute); open.Load() > 0; runtime.Gosched() {
		if time.Now().After(late) {
			t.Fatalf("%d connections are open", open.Load())
		}
	}
}

// TestRetryOnClosedIdleConnection checks that only requests that change nothing are sent again when an idle
// connection turns out to be closed.
func TestRetryOnClosedIdleConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var seen atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				for i := range 2 { // the server reads the second request of a connection, and closes it
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					_, _ = io.Copy(io.Discard, r.Body)
					seen.Add(1)
					if i == 0 {
						_, _ = fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	for method, want := range map[string]int64{"GET": 3, "POST": 2} {
		c := asker(t, ruled(Rules{AllowPrivate: []string{l.Addr().String()}}, nil))
		seen.Store(0)
		if _, err := readAll(t.Context(), c, outbound.Request{URL: "http://" + l.Addr().String()}); err != nil {
			t.Fatal(err)
		}
		text, err := readAll(t.Context(), c, outbound.Request{Method: method, URL: "http://" + l.Addr().String(),
			Body: []byte("x")[:len(method)-3]})
		if (text == "ok") != (method == "GET") || method == "POST" && kindOf(err) != tool.Unavailable ||
			seen.Load() != want {
			t.Errorf("%s: %q, %v, sent %d times", method, text, err, seen.Load()-1)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestCheckLooksUpNoNames checks that Check looks up no name: a lookup could
// reveal something.
func TestCheckLooksUpNoNames(t *testing.T) {
	resolver := &names{}
	c, err := NewClient(ClientOptions{Resolver: resolver, Rules: func(profile string) (Rules, error) {
		return Rules{Deny: []string{"*.denied.example"}, AllowPrivate: []string{"10.0.0.1:8080"}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, test := range []struct {
		request outbound.Request
		want    tool.Kind
	}{
		{outbound.Request{URL: "https://a.example/"}, ""},
		{outbound.Request{URL: "http://10.0.0.1:8080/"}, ""},
		{outbound.Request{URL: "http://10.0.0.1:8081/"}, tool.Refused},
		{outbound.Request{URL: "http://169.254.169.254/latest/"}, tool.Refused},
		{outbound.Request{URL: "http://db.internal/"}, tool.Refused},
		{outbound.Request{URL: "https://a.denied.example/"}, tool.Refused},
		{outbound.Request{URL: "https://a.example:22/"}, tool.Refused},
		{outbound.Request{URL: "http://2130706433/"}, tool.Invalid},
		{outbound.Request{URL: "gopher://a.example/"}, tool.Invalid},
		{outbound.Request{URL: "https://a.example/", Method: "CONNECT"}, tool.Refused},
		{outbound.Request{URL: "https://a.example/", Header: http.Header{"Cookie": {"a=b"}}}, tool.Refused},
	} {
		if err := c.Check(t.Context(), test.request); kindOf(err) != test.want {
			t.Errorf("%+v: %v", test.request, err)
		}
	}
	if len(resolver.asked) > 0 {
		t.Errorf("%q were looked up", resolver.asked)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if c.Check(t.Context(), outbound.Request{URL: "https://a.example/"}) == nil {
		t.Error("a closed client would send it")
	}
}

// TestOnRefusedReplacesTheBody checks that OnRefused is called before the response is sent.
func TestOnRefusedReplacesTheBody(t *testing.T) {
	dead, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone := dead.Addr().String()
	_ = dead.Close()
	for _, test := range []struct {
		request, status, to string
		kind                tool.Kind
	}{
		{"GET http://10.0.0.1/ HTTP/1.1\r\nHost: 10.0.0.1\r\n\r\n", "403", "10.0.0.1:80", tool.Refused},
		{"CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 10.0.0.1:443\r\n\r\n", "403", "10.0.0.1:443", tool.Refused},
		{"GET http://" + gone + "/ HTTP/1.1\r\nHost: " + gone + "\r\n\r\n", "502", gone, tool.Unavailable},
	} {
		var reported atomic.Value
		address := proxy(t, ProxyOptions{Dialer: dialer(t, Rules{AllowPrivate: []string{gone}}, nil),
			OnRefused: func(to Target, err error) {
				reported.Store(to.String() + " " + string(kindOf(err)))
			}})
		answer := raw(t, address, test.request)
		if !strings.HasPrefix(answer, test.status+" ") || !strings.HasSuffix(answer, "\n\n") {
			t.Errorf("%.40q is answered with %q", test.request, answer)
		}
		if want := test.to + " " + string(test.kind); reported.Load() != want {
			t.Errorf("%.40q: reported is %v, want %s", test.request, reported.Load(), want)
		}
	}
}

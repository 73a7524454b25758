package egress

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

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

// TestProfileOfTheCaller: without a word on profiles, callers have their own.
func TestProfileOfTheCaller(t *testing.T) {
	c := asker(t, ClientOptions{Rules: func(profile string) (Rules, error) { return Rules{Deny: []string{profile + ".example.org"}}, nil }, Resolver: &names{}})
	ctx := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Profile: "small"}})
	for host, want := range map[string]tool.Kind{"small.example.org": tool.Refused, "large.example.org": tool.NotFound} {
		if _, err := readAll(ctx, c, outbound.Request{URL: "http://" + host}); kindOf(err) != want {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// TestRenewWhileReading: a body that is being read goes on, and its connection
// ends with it.
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
	if err := a.Body.Close(); err != nil || len(c.slots) != 0 {
		t.Errorf("%d connections are open, %v", len(c.slots), err)
	}
	if _, err := readAll(t.Context(), c, outbound.Request{URL: server.URL}); kindOf(err) != tool.Refused {
		t.Error(err)
	}
}

// TestConnectionsEnd counts what is open when a client is closed.
func TestConnectionsEnd(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 100<<10)) }))
	defer server.Close()
	c := asker(t, ruled(Rules{AllowPrivate: []string{server.Listener.Addr().String()}}, nil))
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, err := c.Do(t.Context(), outbound.Request{URL: server.URL}); err != nil { // never closed
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(c.slots) == 0 {
		t.Error("nothing is open")
	}
	if err := c.Close(); err != nil || len(c.slots) != 0 {
		t.Errorf("%d connections are open, %v", len(c.slots), err)
	}
}

// TestAgain: what only reads is sent again when a connection was closed that was
// kept for too long, and nothing else.
func TestAgain(t *testing.T) {
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
				for i := range 2 { // the second request of a connection is read, and not answered
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
		text, err := readAll(t.Context(), c, outbound.Request{Method: method, URL: "http://" + l.Addr().String(), Body: []byte("x")[:len(method)-3]})
		if (text == "ok") != (method == "GET") || method == "POST" && kindOf(err) != tool.Unavailable || seen.Load() != want {
			t.Errorf("%s: %q, %v, sent %d times", method, text, err, seen.Load()-1)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/policy"
)

// pipes is a listener for connections that have no buffers and no network, so
// that clocks can be made up around them.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	select {
	case <-p.closed:
	default:
		close(p.closed)
	}
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "pipe"} }

func (p *pipes) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// stillSite is a site inside a synctest bubble. What the returned function
// does not end, the bubble reports as a deadlock.
func stillSite(t *testing.T, change ...func(*HTTP)) (s *site, p *pipes, shut func()) {
	t.Helper()
	p = &pipes{conns: make(chan net.Conn), closed: make(chan struct{})}
	b := newTestServer(t)
	s = &site{testServer: b, door: newDoor(b, append(change,
		func(h *HTTP) { h.ReadHeaderTimeout = 5 * time.Second })...), addr: "localhost", ended: make(chan error, 1)}
	transport := &http.Transport{DialContext: p.dial}
	s.web = &http.Client{Transport: transport}
	ctx, stop := context.WithCancel(t.Context())
	s.stop = stop
	go func() { s.ended <- s.door.Serve(ctx, p) }()
	return s, p, func() {
		stop()
		if err := <-s.ended; err != nil {
			t.Errorf("Serve returned %v", err)
		}
		transport.CloseIdleConnections()
	}
}

// TestSlowClientsAreShownOut lets clients send a byte now and then.
func TestSlowClientsAreShownOut(t *testing.T) {
	head := "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n"
	for name, test := range map[string]struct {
		start, drop string
		every       time.Duration
		limit       time.Duration
	}{
		"headers":        {"POST /mcp HTTP/1.1\r\nHost: localhost\r\n", "X-A: b\r\n", time.Second, 5 * time.Second},
		"nothing at all": {"P", "", time.Hour, 5 * time.Second},
		"a body":         {head + "Content-Length: 100000\r\n\r\n", "x", time.Second, bodyLimit},
		"half a body":    {head + "Content-Length: 100000\r\n\r\n{", "", time.Hour, bodyLimit},
		"a body in bits": {head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\nx\r\n", time.Second, bodyLimit},
		"a body without a token": {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\n", "x",
			time.Second, bodyLimit},
		"a body for evil": {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\n", "x",
			time.Second, bodyLimit},
		"after an answer": {"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", "", time.Hour, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p, shut := stillSite(t)
				c, err := p.dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				gone := make(chan time.Duration, 1)
				go func() {
					_, _ = io.Copy(io.Discard, c) // until the server hangs up
					gone <- time.Since(begun)
				}()
				var sender sync.WaitGroup
				sender.Go(func() {
					_, err := io.WriteString(c, test.start)
					for err == nil && test.drop != "" {
						<-time.After(test.every)
						_, err = io.WriteString(c, test.drop)
					}
				})
				if took := <-gone; took > test.limit+5*time.Second {
					t.Errorf("it was shown out after %s", took)
				}
				c.Close()
				sender.Wait()
				shut()
			})
		})
	}
}

func TestAnswersLeftUnread(t *testing.T) {
	for name, request := range map[string]string{
		"without a token": "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
		"evil host":       "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"no JSON":         "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\nx",
		"health":          "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"preflight":       "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, p, shut := stillSite(t)
				c := deaf(t, p, request)
				begun := time.Now()
				var err error
				for err == nil && time.Since(begun) < 2*(bodyLimit+writeLimit) { // again and again
					<-time.After(time.Second)
					if err = c.SetWriteDeadline(time.Now().Add(time.Second)); err == nil {
						if _, err = io.WriteString(c, request); errors.Is(err, os.ErrDeadlineExceeded) {
							err = nil
						}
					}
				}
				if err == nil {
					t.Errorf("after %s it is still connected", time.Since(begun))
				}
				c.Close()
				shut()
			})
		})
	}
}

// deaf opens a stream and never reads a byte more than the headers.
func deaf(t *testing.T, p *pipes, request string) net.Conn {
	t.Helper()
	c, err := p.dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClientsThatDoNotListenHoldNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, shut := stillSite(t)
		bob := s.visitor("bob").hello(t, "2025-11-25")
		hears := bob.listen(t, "")
		alice := s.visitor("alice").hello(t, "2025-11-25")
		c := deaf(t, p,
			fmt.Sprintf("GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\nMcp-Session-Id: %s\r\n\r\n", alice.session))
		from := bufio.NewReaderSize(c, 16)
		if line, err := from.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("the stream began with %q, %v", line, err)
		}
		for line := ""; !strings.HasPrefix(line, ": hello"); {
			var err error
			if line, err = from.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		for i, rules := range []policy.Rules{{Deny: policy.List{"echo"}}, {}, {Deny: policy.List{"slow"}}} {
			if err := s.Apply(testSettings(t, s.Config.Tools, rules)); err != nil {
				t.Fatal(err)
			}
			if got := <-hears.data; !strings.Contains(got, "list_changed") {
				t.Errorf("change %d: got %s", i, got)
			}
		}
		if took := time.Since(begun); took > time.Second {
			t.Errorf("the others heard of it after %s", took)
		}
		hears.close()
		<-time.After(writeLimit + keepAlive)
		synctest.Wait()
		if alice.post(ping("1")).status != 200 {
			t.Error("its session ended with the stream")
		}
		if e := alice.listen(t, ""); e.status != 200 {
			t.Errorf("the stream of the deaf is still held: %d", e.status)
		} else {
			e.close()
		}
		c.Close()
		shut()
	})
}

func TestACallForAClientThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, shut := stillSite(t)
		body := modernLine("1", "tools/call", `"name":"chatty","arguments":{"n":50}`)
		c := deaf(t, p,
			fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\n"+
				"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: chatty\r\nContent-Length: %d\r\n\r\n%s", len(body), body))
		begun := time.Now()
		synctest.Wait()
		for len(s.audit.all()) == 0 {
			if time.Since(begun) > 2*writeLimit {
				t.Fatal("the call never ended")
			}
			<-time.After(time.Second)
		}
		c.Close()
		shut()
	})
}

func TestShuttingDownOnClientsThatDoNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, p, shut := stillSite(t, func(h *HTTP) { h.Grace = 5 * time.Second })
		session := s.visitor("bob").hello(t, "2025-11-25").session
		var deafened []net.Conn
		for _, path := range []string{"/mcp", "/sse"} {
			deafened = append(deafened, deaf(t, p,
				fmt.Sprintf("GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer bob\r\nMcp-Session-Id: %s\r\n\r\n", path, session)))
		}
		synctest.Wait()
		begun := time.Now()
		shut()
		if took := time.Since(begun); took > s.door.Grace+3*lastGrace {
			t.Errorf("it took %s", took)
		}
		for _, c := range deafened {
			c.Close()
		}
		<-time.After(2 * writeLimit)
	})
}

func TestQuietStreamsStayOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _, shut := stillSite(t, func(h *HTTP) { h.SessionIdle = 10 * time.Minute })
		v := s.visitor("alice").hello(t, "2025-11-25")
		idle := s.visitor("bob").hello(t, "2025-11-25")
		e := v.listen(t, "")
		<-time.After(time.Hour)
		synctest.Wait()
		if err := s.Apply(testSettings(t, s.Config.Tools, policy.Rules{Deny: policy.List{"echo"}})); err != nil {
			t.Fatal(err)
		}
		if got, open := <-e.data; !open || !strings.Contains(got, "list_changed") {
			t.Errorf("after an hour it said %q", got)
		}
		if a := idle.post(ping("1")); a.status != http.StatusNotFound {
			t.Errorf("a session that was idle for an hour got %d", a.status)
		}
		e.close()
		shut()
	})
}

func TestTokensAreProvedEveryTime(t *testing.T) {
	noLeaks(t)
	list := guests()
	s := openSite(t, func(h *HTTP) { h.Identities = list })
	v := s.visitor("alice").hello(t, "2025-11-25")
	if a := v.post(ping("1")); a.status != 200 {
		t.Fatalf("before, it got %d", a.status)
	}
	s.door.Identities = failing{list, &Challenge{Status: 401, Header: `Bearer error="invalid_token"`,
		Reason: "the token has expired"}}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if a := v.do(t.Context(), method, ping("1")); a.status != 401 || !strings.Contains(a.body, "expired") {
			t.Errorf("%s with an expired token got %d %q", method, a.status, a.body)
		}
	}
	s.door.Identities = failing{list, errors.New("dial tcp 10.0.0.1: the keys cannot be fetched")}
	if a := v.post(ping("1")); a.status != 503 || strings.Contains(a.body, "10.0.0.1") {
		t.Errorf("when it cannot be checked: %d %q", a.status, a.body)
	}
}

// failing identifies no token.
type failing struct {
	Identities
	err error
}

func (f failing) Identify(context.Context, string, string) (Identity, error) {
	return Identity{}, f.err
}

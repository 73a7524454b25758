package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A den is what the commands of one caller listen on, in place of a sandbox.
type den struct {
	ports map[uint16]*httptest.Server
}

func (d den) dial(ctx context.Context, port uint16) (net.Conn, error) {
	s := d.ports[port]
	if s == nil {
		return nil, tool.Errorf(tool.NotFound, "nothing in this session listens on port %d", port)
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", s.Listener.Addr().String())
}

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func says(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

func leads(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

// ownClient returns a client for callers of which ann and bob may run commands.
func ownClient(t *testing.T, r Rules, dens map[string]den) *Client {
	t.Helper()
	c, err := NewClient(ClientOptions{
		Rules: func(string) (Rules, error) { return r, nil },
		Own: func(ctx context.Context) OwnDial {
			if d, ok := dens[tool.CallerFrom(ctx).User]; ok {
				return d.dial
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func as(t *testing.T, user string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: user, Session: "s"}})
}

func get(ctx context.Context, c *Client, url string) (text string, own bool, err error) {
	a, err := c.Do(ctx, outbound.Request{URL: url, Redirects: 5})
	if err != nil {
		return "", false, err
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	return string(body), a.Own, err
}

// TestOwnServers checks that the names of this machine lead to the caller's own commands, and
// for nobody to this machine.
func TestOwnServers(t *testing.T) {
	machine := serve(t, says("the machine's"))
	_, port, _ := net.SplitHostPort(machine.Listener.Addr().String())
	c := ownClient(t, Rules{}, map[string]den{
		"ann": {map[uint16]*httptest.Server{80: serve(t, says("root")), 3456: serve(t, says("ann's"))}},
		"bob": {map[uint16]*httptest.Server{3456: serve(t, says("bob's"))}},
	})
	for _, host := range []string{"localhost", "LOCALHOST", "localhost.", "127.0.0.1", "127.8.8.8", "[::1]", "0.0.0.0", "[::]",
		"app.localhost"} {
		for user, want := range map[string]string{"ann": "ann's", "bob": "bob's"} {
			if got, own, err := get(as(t, user), c, "http://"+host+":3456/"); got != want || !own {
				t.Errorf("%s at %s: %q %v, %v", user, host, got, own, err)
			}
		}
		if _, _, err := get(as(t, "eve"), c, "http://"+host+":3456/"); kindOf(err) != tool.Refused {
			t.Errorf("a caller without commands at %s: %v", host, err)
		}
		if got, _, err := get(as(t, "ann"), c, "http://"+host+":"+port+"/"); kindOf(err) != tool.NotFound {
			t.Errorf("the machine's port at %s: %q, %v", host, got, err)
		}
	}
	for _, url := range []string{"http://127.1:3456", "http://2130706433:3456", "http://0x7f000001:3456", "http://017700000001:3456",
		"http://[::ffff:127.0.0.1]:3456", "http://127.0.0.1.:3456", "http://[::ffff:7f00:1]:3456", "http://[0:0:0:0:0:0:0:1%25lo]:3456"} {
		got, own, err := get(as(t, "ann"), c, url)
		if err == nil && got != "ann's" || err != nil && kindOf(err) != tool.Invalid && kindOf(err) != tool.Refused {
			t.Errorf("%s: %q %v, %v", url, got, own, err)
		}
	}
	for _, url := range []string{"http://10.0.0.1:3456", "http://169.254.169.254/", "http://localhost.example.test:3456",
		"http://notlocalhost:3456"} {
		if _, _, err := get(as(t, "ann"), c, url); kindOf(err) != tool.Refused {
			t.Errorf("%s: %v", url, err)
		}
	}
	if _, err := c.Do(as(t, "ann"), outbound.Request{URL: "http://localhost:3456", Secret: never{}}); kindOf(err) != tool.Refused {
		t.Errorf("with a credential: %v", err)
	}
	if c.IsOwn(as(t, "eve"), "http://localhost:3456") || !c.IsOwn(as(t, "ann"), "http://localhost:1/x?y") ||
		c.IsOwn(as(t, "ann"), "http://example.com") {
		t.Error("IsOwn is wrong")
	}
}

type never struct{}

func (never) Attach(context.Context, *http.Request) (bool, error) {
	return false, errors.New("a credential was asked for")
}

// TestOwnRedirects checks that no redirect leads into or out of what commands serve.
func TestOwnRedirects(t *testing.T) {
	outside := serve(t, leads("http://localhost:3456/"))
	address := outside.Listener.Addr().String()
	c := ownClient(t, Rules{AllowPrivate: []string{address}}, map[string]den{"ann": {map[uint16]*httptest.Server{
		3456: serve(t, says("secret")), 1000: serve(t, leads("http://127.0.0.1:3456/")),
		2000: serve(t, leads("http://"+address+"/")),
	}}})
	ctx := as(t, "ann")
	if got, own, err := get(ctx, c, "http://localhost:1000"); got != "secret" || !own {
		t.Errorf("from one port to another: %q, %v", got, err)
	}
	if got, _, err := get(ctx, c, "http://"+address); kindOf(err) != tool.Refused || !strings.Contains(err.Error(), "session") {
		t.Errorf("from outside: %q, %v", got, err)
	}
	if got, _, err := get(ctx, c, "http://localhost:2000"); kindOf(err) != tool.Refused || !strings.Contains(err.Error(), "session") {
		t.Errorf("to the outside: %q, %v", got, err)
	}
}

// TestOwnAndTheOperator checks that what the operator lists keeps its meaning.
func TestOwnAndTheOperator(t *testing.T) {
	machine := serve(t, says("the machine's"))
	_, port, _ := net.SplitHostPort(machine.Listener.Addr().String())
	c := ownClient(t, Rules{AllowPrivate: []string{"localhost:" + port}, Deny: []string{"localhost:3457"}, Allow: []string{"a.example"}},
		map[string]den{"ann": {map[uint16]*httptest.Server{3456: serve(t, says("ann's")), 3457: serve(t, says("denied"))}}})
	if got, own, err := get(as(t, "ann"), c, "http://localhost:"+port); got != "the machine's" || own {
		t.Errorf("a private host: %q %v, %v", got, own, err)
	}
	if got, _, err := get(as(t, "ann"), c, "http://localhost:3457"); kindOf(err) != tool.Refused {
		t.Errorf("a denied port: %q, %v", got, err)
	}
	if got, _, err := get(as(t, "ann"), c, "http://localhost:3456"); got != "ann's" {
		t.Errorf("with a list of hosts: %q, %v", got, err)
	}
}

// TestOwnThroughAProxy checks what a browser with own pages reaches.
func TestOwnThroughAProxy(t *testing.T) {
	machine := serve(t, says("the machine's"))
	_, port, _ := net.SplitHostPort(machine.Listener.Addr().String())
	asked := make(chan string, 10)
	at := proxy(t, ProxyOptions{
		Dialer: dialer(t, Rules{}, nil),
		Own:    den{map[uint16]*httptest.Server{80: serve(t, says("ann's")), 3456: serve(t, says("ann's"))}}.dial,
		Sites:  map[string]http.Handler{"workspace.localhost": says("a file")},
		Allow: func(_ context.Context, to Target) error {
			asked <- to.String()
			return tool.Errorf(tool.Refused, "no")
		},
	})
	for _, c := range []struct {
		way, host, port string
		ok              bool
	}{
		{"get", "localhost", "3456", true}, {"connect", "127.0.0.1", "3456", true}, {"get", "::1", "80", true},
		{"get", "workspace.localhost", "80", true}, {"connect", "workspace.localhost", "80", false},
		{"get", "localhost", port, false}, {"connect", "127.0.0.1", port, false}, {"get", "10.0.0.1", "80", false},
		{"get", "a.example", "80", false}, {"connect", "a.example", "443", false},
	} {
		conn, err := through(t, at, c.way, c.host, c.port)
		if (err == nil) != c.ok {
			t.Errorf("%s %s:%s: %v", c.way, c.host, c.port, err)
		}
		conn.Close()
	}
	if len(asked) != 2 {
		t.Errorf("asked %d times about hosts", len(asked))
	}
}

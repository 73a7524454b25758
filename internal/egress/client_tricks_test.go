package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/tricktest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func asker(t testing.TB, o ClientOptions) *Client {
	t.Helper()
	c, err := NewClient(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// ruled returns options with the same rules for all callers.
func ruled(r Rules, resolver Resolver) ClientOptions {
	return ClientOptions{Rules: func(string) (Rules, error) { return r, nil }, Resolver: resolver}
}

// refusal returns the error that a request ends with.
func refusal(t *testing.T, c *Client, r outbound.Request) error {
	t.Helper()
	a, err := c.Do(t.Context(), r)
	if err == nil {
		_ = a.Body.Close()
	}
	return err
}

func TestClientTricks(t *testing.T) {
	s := listen(t)
	all, answers := tricktest.URLs(s.port)
	c := asker(t, ruled(Rules{}, &names{answers: answers}))
	for _, text := range all {
		if err := refusal(t, c, outbound.Request{URL: text, Timeout: 0}); kindOf(err) != tool.Refused &&
			kindOf(err) != tool.Invalid {
			t.Errorf("%q: %v; want it refused", text, err)
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("what is inside was reached %d times", n)
	}
	t.Logf("%d URLs", len(all))
}

// TestRedirectTricks redirects from a public host to each trick.
func TestRedirectTricks(t *testing.T) {
	s := listen(t)
	all, answers := tricktest.URLs(s.port)
	var to string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ok" {
			_, _ = io.WriteString(w, "fine")
			return
		}
		w.Header()["Location"] = []string{to}
		w.WriteHeader(http.StatusMovedPermanently)
	}))
	defer front.Close()
	port := netip.MustParseAddrPort(front.Listener.Addr().String()).Port()
	answers["front.example.com"] = []string{"127.0.0.1"}
	host := fmt.Sprintf("front.example.com:%d", port)
	c := asker(t, ruled(Rules{AllowPrivate: []string{host}}, &names{answers: answers}))
	for _, text := range append(all, "//127.0.0.1:"+s.port+"/x", "//"+s.port, "http:"+s.port, "//localhost:"+s.port) {
		if strings.ContainsAny(text, "\r\n\x00") || !strings.Contains(text, "/") {
			continue // invalid in a header, or a relative path
		}
		to = text
		err := refusal(t, c, outbound.Request{URL: "http://" + host + "/", Redirects: 3})
		if kindOf(err) != tool.Refused && kindOf(err) != tool.Invalid && !strings.HasPrefix(text, "http:/127") &&
			!strings.HasPrefix(text, "///") {
			t.Errorf("to %q: %v; want it refused", text, err)
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("what is inside was reached %d times", n)
	}
	to = "/ok"
	if err := refusal(t, c, outbound.Request{URL: "http://" + host + "/", Redirects: 1}); err != nil {
		t.Errorf("an honest redirect: %v", err)
	}
}

// TestRedirectsDoNotReachPrivateHosts checks that redirects do not reach private hosts that the
// operator allows.
func TestRedirectsDoNotReachPrivateHosts(t *testing.T) {
	s := listen(t)
	front := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:"+s.port+"/", http.StatusFound))
	defer front.Close()
	at := front.Listener.Addr().String()
	c := asker(t, ruled(Rules{AllowPrivate: []string{at, "127.0.0.1:" + s.port}}, nil))
	err := refusal(t, c, outbound.Request{URL: "http://" + at, Redirects: 3})
	if kindOf(err) != tool.Refused || !strings.Contains(err.Error(), "redirects, and then: ") ||
		!strings.Contains(err.Error(), "; request this URL itself") {
		t.Error(err)
	}
	if s.reached.Load() > 0 {
		t.Error("it was reached")
	}
	if err := refusal(t, c, outbound.Request{URL: "http://127.0.0.1:" + s.port,
		Redirects: 3}); kindOf(err) != tool.Unavailable || s.reached.Load() == 0 {
		t.Errorf("asked for directly: %v", err)
	}
}

// TestRebindingBetweenHops changes the address of a name to a private one between the
// requests of a redirect.
func TestRebindingBetweenHops(t *testing.T) {
	s := listen(t)
	front := httptest.NewServer(http.RedirectHandler("http://rebind.example.com:"+s.port+"/", http.StatusFound))
	defer front.Close()
	port := netip.MustParseAddrPort(front.Listener.Addr().String()).Port()
	host := fmt.Sprintf("rebind.example.com:%d", port)
	c := asker(t, ruled(Rules{AllowPrivate: []string{host}},
		&names{answers: map[string][]string{"rebind.example.com": {"127.0.0.1", "::1 127.0.0.1"}}}))
	for range 3 {
		if err := refusal(t, c, outbound.Request{URL: "http://" + host, Redirects: 3}); kindOf(err) != tool.Refused {
			t.Error(err)
		}
	}
	if s.reached.Load() > 0 {
		t.Error("what is inside was reached")
	}
}

func TestClientGivesNothingAway(t *testing.T) {
	c := asker(t, ruled(Rules{}, &names{answers: map[string][]string{"a.example.com": {"10.0.0.1"},
		"b.example.com": {"127.0.0.1"}, "c.example.com": {"169.254.169.254 fd00::1"}}}))
	want := ""
	for _, host := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "localhost", "x.internal",
		"a.example.com", "b.example.com", "c.example.com"} {
		err := refusal(t, c, outbound.Request{URL: "http://" + host + "/x?key=secret"})
		if kindOf(err) != tool.Refused || strings.Contains(err.Error(), "secret") {
			t.Fatalf("%s: %v", host, err)
		}
		got := strings.ReplaceAll(err.Error(), host+":80", "HOST")
		if want == "" {
			want = got
		}
		if got != want {
			t.Errorf("%s: %s\nothers: %s", host, got, want)
		}
	}
}

func TestPortsOfOtherProtocols(t *testing.T) {
	public := &names{answers: map[string][]string{"mail.example.com": {"127.0.0.1"}}}
	for _, port := range []string{"25", "22", "6667", "110"} {
		for _, rules := range []Rules{{}, {Allow: []string{"*.example.com"}}} {
			err := refusal(t, asker(t, ruled(rules, public)),
				outbound.Request{URL: "http://mail.example.com:" + port + "/"})
			if kindOf(err) != tool.Refused || !strings.Contains(err.Error(), "port") {
				t.Errorf("%s: %v", port, err)
			}
		}
	}
	if len(public.asked) > 0 {
		t.Errorf("looked up: %q", public.asked)
	}
	l, err := parseLink("http://mail.example.com:25/")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Rules{Allow: []string{"mail.example.com:25"}}.parse()
	if err != nil || r.checkLink(l) != nil {
		t.Errorf("the operator has named it: %v, %v", err, r.checkLink(l))
	}
}

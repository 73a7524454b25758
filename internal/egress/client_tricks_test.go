package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/tools"
)

// urls are whole URLs by which somebody may try to reach PORT of this machine.
const urls = `
http://example.com@127.0.0.1:PORT/ http://example.com:80@127.0.0.1:PORT/ http://127.0.0.1:PORT@example.com/ http://user:pass@example.com/ http://@127.0.0.1:PORT/ http://:@example.com/
http://example.com\@127.0.0.1:PORT/ http://127.0.0.1:PORT\@example.com/ http:\\127.0.0.1:PORT/ http:/\127.0.0.1:PORT/ \\127.0.0.1:PORT/ http://example.com\.127.0.0.1:PORT/
http:127.0.0.1:PORT http:/127.0.0.1:PORT http:///127.0.0.1:PORT/ http:////127.0.0.1:PORT/ //127.0.0.1:PORT/ 127.0.0.1:PORT ///127.0.0.1:PORT/
http://127.0.0.1:PORT%00.example.com/ http://127.0.0.1%00:PORT/ http://127.0.0.1%09:PORT/ http://127.0.0.1%20:PORT/ http://example.com%2f@127.0.0.1:PORT/ http://%31%32%37.0.0.1:PORT/ http://%6cocalhost:PORT/
http://127.0.0.1{TAB}:PORT/ http://{TAB}127.0.0.1:PORT/ http://127.0.0.1{NUL}:PORT/ http://127.0.0.1:PORT{NL}/ http://example.com/{NL}Host:x http://127.0.0.1:PORT/{CR}{NL}X:y ht{TAB}tp://127.0.0.1:PORT/
http://127.0.0.1#@example.com:PORT/ http://127.0.0.1?@example.com:PORT/ http://[::1]@example.com:PORT/ http://example.com@[::1]:PORT/ http://[::1]:PORT:80/ http://[::1]PORT/ http://::1:PORT/ http://[::1%25lo]:PORT/ http://[127.0.0.1]:PORT/ http://[::ffff:127.0.0.1]:PORT/
http://localhost:PORT:80/ http://localhost:0/ http://127.0.0.1:-1/ http://127.0.0.1:99999/ http://127.0.0.1:PORTx/ http://127.0.0.1:0xPORT/ http://127.0.0.1:+PORT/ http://127.0.0.1:%50/
HTTP://LOCALHOST:PORT/ hTTps://127.0.0.1:PORT/ ftp://127.0.0.1:PORT/ file:///etc/passwd file://127.0.0.1/etc/passwd gopher://127.0.0.1:PORT/_x dict://127.0.0.1:PORT/ ws://127.0.0.1:PORT/ unix:///run/x.sock javascript:1 data:text/html,x about:blank jar:http://127.0.0.1:PORT/ view-source:http://127.0.0.1:PORT/ blob:http://127.0.0.1:PORT/
http://１２７.0.0.1:PORT/ http://127。0。0。1:PORT/ http://127.0.0.1。:PORT/ http://ⓛocalhost:PORT/ http://localhost%E3%80%82:PORT/ http://%E2%91%A0%E2%91%A1%E2%91%A6.0.0.1:PORT/ http://127.0.0.1%E2%80%8B:PORT/
http:// http://: http://:PORT/ https:///x http://./ http://../ http://%/ http://[/ http://]/ http://example.com:PORT:/ mailto:x@127.0.0.1`

func replace(text, port string) string {
	return strings.NewReplacer("PORT", port, "{TAB}", "\t", "{NUL}", "\x00", "{NL}", "\n", "{CR}", "\r").Replace(text)
}

// trickURLs are the URLs of both lists, and what a resolver says to their hosts.
func trickURLs(port string) (all []string, answers map[string][]string) {
	hosts, answers := trickHosts()
	for _, host := range hosts {
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			host = "[" + host + "]"
		}
		all = append(all, "http://"+host+":"+port+"/secret", "https://"+host+":"+port+"/secret")
	}
	for _, text := range strings.Fields(urls) {
		all = append(all, replace(text, port))
	}
	answers["example.com"] = []string{"127.0.0.1"}
	return all, answers
}

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

// ruled are options for one set of rules, whoever asks.
func ruled(r Rules, resolver Resolver) ClientOptions {
	return ClientOptions{Rules: func(string) (Rules, error) { return r, nil }, Resolver: resolver}
}

// refusal is the error that a request ends with.
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
	all, answers := trickURLs(s.port)
	c := asker(t, ruled(Rules{}, &names{answers: answers}))
	for _, text := range all {
		if err := refusal(t, c, outbound.Request{URL: text, Timeout: 0}); kindOf(err) != tools.Refused && kindOf(err) != tools.Invalid {
			t.Errorf("%q: %v; want it refused", text, err)
		}
	}
	if n := s.reached.Load(); n > 0 {
		t.Errorf("what is inside was reached %d times", n)
	}
	t.Logf("%d URLs", len(all))
}

// TestRedirectTricks has a host that may be asked redirect to each trick.
func TestRedirectTricks(t *testing.T) {
	s := listen(t)
	all, answers := trickURLs(s.port)
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
			continue // no header can hold it, or it is a path there
		}
		to = text
		err := refusal(t, c, outbound.Request{URL: "http://" + host + "/", Redirects: 3})
		if kindOf(err) != tools.Refused && kindOf(err) != tools.Invalid && !strings.HasPrefix(text, "http:/127") && !strings.HasPrefix(text, "///") {
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

// TestAllowedIsNotForRedirects: what the operator allows inside is for those who
// ask for it, and not for hosts that lead there.
func TestAllowedIsNotForRedirects(t *testing.T) {
	s := listen(t)
	front := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:"+s.port+"/", http.StatusFound))
	defer front.Close()
	at := front.Listener.Addr().String()
	c := asker(t, ruled(Rules{AllowPrivate: []string{at, "127.0.0.1:" + s.port}}, nil))
	if err := refusal(t, c, outbound.Request{URL: "http://" + at, Redirects: 3}); kindOf(err) != tools.Refused {
		t.Error(err)
	}
	if s.reached.Load() > 0 {
		t.Error("it was reached")
	}
	if err := refusal(t, c, outbound.Request{URL: "http://127.0.0.1:" + s.port, Redirects: 3}); kindOf(err) != tools.Unavailable || s.reached.Load() == 0 {
		t.Errorf("asked for directly: %v", err)
	}
}

// TestRebindingBetweenHops has a name move inside while it redirects.
func TestRebindingBetweenHops(t *testing.T) {
	s := listen(t)
	front := httptest.NewServer(http.RedirectHandler("http://rebind.example.com:"+s.port+"/", http.StatusFound))
	defer front.Close()
	port := netip.MustParseAddrPort(front.Listener.Addr().String()).Port()
	host := fmt.Sprintf("rebind.example.com:%d", port)
	c := asker(t, ruled(Rules{AllowPrivate: []string{host}}, &names{answers: map[string][]string{"rebind.example.com": {"127.0.0.1", "::1 127.0.0.1"}}}))
	for range 3 {
		if err := refusal(t, c, outbound.Request{URL: "http://" + host, Redirects: 3}); kindOf(err) != tools.Refused {
			t.Error(err)
		}
	}
	if s.reached.Load() > 0 {
		t.Error("what is inside was reached")
	}
}

func TestClientGivesNothingAway(t *testing.T) {
	c := asker(t, ruled(Rules{}, &names{answers: map[string][]string{"a.example.com": {"10.0.0.1"}, "b.example.com": {"127.0.0.1"}, "c.example.com": {"169.254.169.254 fd00::1"}}}))
	want := ""
	for _, host := range []string{"127.0.0.1", "10.0.0.1", "169.254.169.254", "[::1]", "localhost", "x.internal", "a.example.com", "b.example.com", "c.example.com"} {
		err := refusal(t, c, outbound.Request{URL: "http://" + host + "/x?key=secret"})
		if kindOf(err) != tools.Refused || strings.Contains(err.Error(), "secret") {
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
			err := refusal(t, asker(t, ruled(rules, public)), outbound.Request{URL: "http://mail.example.com:" + port + "/"})
			if kindOf(err) != tools.Refused || !strings.Contains(err.Error(), "port") {
				t.Errorf("%s: %v", port, err)
			}
		}
	}
	if len(public.asked) > 0 {
		t.Errorf("looked up: %q", public.asked)
	}
	l, err := readLink("http://mail.example.com:25/")
	if err != nil {
		t.Fatal(err)
	}
	r, err := Rules{Allow: []string{"mail.example.com:25"}}.read()
	if err != nil || r.asked(l) != nil {
		t.Errorf("the operator has named it: %v, %v", err, r.asked(l))
	}
}

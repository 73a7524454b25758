package credential

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

type masked []string

func (m *masked) set(_ string, values ...string) error {
	*m = append(*m, values...)
	return nil
}

func wallet(t *testing.T, all map[string]Settings) (*Wallet, *masked) {
	t.Helper()
	var m masked
	w, err := New(Options{
		Credentials: all, Private: []string{"wiki.corp:8080"}, Mask: m.set, Fetch: plain,
		Profile: func(ctx context.Context) string { return tool.CallerFrom(ctx).Profile },
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, &m
}

// plain returns the reference itself as the secret.
func plain(s config.Secret) (string, error) { return string(s), nil }

func as(t *testing.T, agent, profile string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: agent, Profile: profile}})
}

func TestFind(t *testing.T) {
	w, _ := wallet(t, map[string]Settings{"github": {
		Hosts:   []string{"api.example.com/v1/", "*.example.org:8443/v1/", "wiki.corp:8080/wiki"},
		Methods: []string{"GET", "POST"}, Profiles: []string{"coding"}, Agents: []string{"a"}, Secret: "s3cr3t-value",
	}})
	for _, c := range []struct {
		name, credential, method, url, agent, profile string
		want                                          tool.Kind
	}{
		{"fits", "github", "GET", "https://api.example.com/v1/user", "a", "coding", ""},
		{"host in capitals", "github", "GET", "https://API.Example.com./v1/user", "a", "coding", ""},
		{"beneath", "github", "POST", "https://x.example.org:8443/v1/", "a", "coding", ""},
		{"inside, without TLS", "github", "GET", "http://wiki.corp:8080/wiki/x", "a", "coding", ""},
		{"another name", "gitlab", "GET", "https://api.example.com/v1/user", "a", "coding", tool.NotFound},
		{"another profile", "github", "GET", "https://api.example.com/v1/user", "a", "minimal", tool.NotFound},
		{"another agent", "github", "GET", "https://api.example.com/v1/user", "b", "coding", tool.NotFound},
		{"another method", "github", "DELETE", "https://api.example.com/v1/user", "a", "coding", tool.Refused},
		{"another host", "github", "GET", "https://evil.example.com/v1/user", "a", "coding", tool.Refused},
		{"host that ends alike", "github", "GET", "https://notapi.example.com/v1/user", "a", "coding", tool.Refused},
		{"host that begins alike", "github", "GET", "https://api.example.com.evil.net/v1/user", "a", "coding",
			tool.Refused},
		{"not beneath", "github", "GET", "https://example.org:8443/v1/", "a", "coding", tool.Refused},
		{"another port", "github", "GET", "https://x.example.org/v1/", "a", "coding", tool.Refused},
		{"without TLS", "github", "GET", "http://api.example.com/v1/user", "a", "coding", tool.Refused},
		{"without TLS at the port of TLS", "github", "GET", "http://api.example.com:443/v1/user", "a", "coding",
			tool.Refused},
		{"user info", "github", "GET", "https://api.example.com@evil.net/v1/", "a", "coding", tool.Refused},
		{"another path", "github", "GET", "https://api.example.com/v2/user", "a", "coding", tool.Refused},
		{"path that climbs", "github", "GET", "https://api.example.com/v1/../v2/user", "a", "coding", tool.Refused},
		{"path that climbs in disguise", "github", "GET", "https://api.example.com/v1/%2e%2e/v2/user", "a", "coding",
			tool.Refused},
		{"path with two slashes", "github", "GET", "https://api.example.com//v1/", "a", "coding", tool.Refused},
		{"backslash", "github", "GET", "https://api.example.com/v1/%5c..%5cv2", "a", "coding", tool.Refused},
		{"no URL", "github", "GET", "https://[", "a", "coding", tool.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.Find(as(t, c.agent, c.profile), c.credential, c.method, c.url)
			if (err == nil) != (c.want == "") || err != nil && tool.AsError(err).Kind != c.want {
				t.Errorf("got %v", err)
			}
			if c.want == tool.NotFound && c.credential == "github" && strings.Contains(err.Error(), "use one of") {
				t.Errorf("the error names credentials of other callers: %v", err)
			}
		})
	}
}

func TestAttachedHeaders(t *testing.T) {
	for _, c := range []struct {
		credential    Settings
		header, value string
	}{
		{Settings{Secret: "token-1234"}, "Authorization", "Bearer token-1234"},
		{Settings{As: Basic, Secret: "ann:password1"}, "Authorization", "Basic " +
			base64.StdEncoding.EncodeToString([]byte("ann:password1"))},
		{Settings{As: "X-Api-Key", Secret: "key-123456"}, "X-Api-Key", "key-123456"},
	} {
		c.credential.Hosts = []string{"api.example.com"}
		w, m := wallet(t, map[string]Settings{"c": c.credential})
		got, err := w.Find(t.Context(), "c", "GET", "https://api.example.com/")
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest("GET", "https://api.example.com/", nil)
		if attached, err := got.Attach(t.Context(), r); err != nil || !attached || r.Header.Get(c.header) != c.value {
			t.Errorf("%+v goes out as %v, %v", c.credential, r.Header, err)
		}
		if !slices.Contains(*m, string(c.credential.Secret)) {
			t.Errorf("%q is not masked, but %q", c.credential.Secret, *m)
		}
		elsewhere := httptest.NewRequest("GET", "https://other.example.com/", nil)
		if attached, err := got.Attach(t.Context(), elsewhere); err != nil || attached || len(elsewhere.Header) > 0 {
			t.Errorf("it goes to another host: %v %v", elsewhere.Header, err)
		}
	}
}

func TestUnusableSecretsAreNotSent(t *testing.T) {
	request := httptest.NewRequest("GET", "https://api.example.com/", nil)
	for name, secret := range map[string]config.Secret{
		"missing":    "",
		"two lines":  "a\r\nX-Evil: 1",
		"unmaskable": "short",
	} {
		w, err := New(Options{
			Credentials: map[string]Settings{"c": {Hosts: []string{"api.example.com"}, Secret: secret}},
			Fetch: func(s config.Secret) (string, error) {
				if s == "" {
					return "", errors.New("no such secret in /var/lib/vault")
				}
				return string(s), nil
			},
			Profile: func(context.Context) string { return "" },
			Mask: func(_ string, values ...string) error {
				if len(values[0]) < 6 {
					return errors.New("too short")
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		c, err := w.Find(t.Context(), "c", "GET", "https://api.example.com/")
		if err != nil {
			t.Fatal(err)
		}
		attached, err := c.Attach(t.Context(), request)
		if err == nil || attached || len(request.Header) > 0 || strings.Contains(tool.AsError(err).Error(), "/var") {
			t.Errorf("%s: %v, %v", name, attached, err)
		}
	}
}

func TestBadSettings(t *testing.T) {
	all := map[string]Settings{"a": {Hosts: []string{"a b"}}}
	if _, err := New(Options{Credentials: all}); err == nil || !strings.Contains(err.Error(), "web.credentials.a.hosts") {
		t.Errorf("accepted: %v", err)
	}
}

// TestCredentialIsSentOnlyToItsHosts sends a credential to a host that redirects to others.
func TestCredentialIsSentOnlyToItsHosts(t *testing.T) {
	got := make(chan string, 8)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Host + " " + r.Header.Get("Authorization")
		if to := r.URL.Query().Get("to"); to != "" {
			http.Redirect(w, r, to, http.StatusFound)
		}
	}))
	defer server.Close()
	client := egresstest.Client(t, map[string]*httptest.Server{"api.example.com": server, "evil.example.net": server})
	w, _ := wallet(t, map[string]Settings{"c": {Hosts: []string{"api.example.com"}, Secret: "token-1234"}})
	for _, c := range []struct {
		to   string
		want []string
	}{
		{"", []string{"api.example.com Bearer token-1234"}},
		{"/there", []string{"api.example.com Bearer token-1234", "api.example.com Bearer token-1234"}},
		{"https://evil.example.net/", []string{"api.example.com Bearer token-1234", "evil.example.net "}},
		{"https://evil.example.net/?to=https://api.example.com/",
			[]string{"api.example.com Bearer token-1234", "evil.example.net ", "api.example.com "}},
	} {
		url := "https://api.example.com/?to=" + strings.ReplaceAll(c.to, "?", "%3f")
		credential, err := w.Find(t.Context(), "c", "GET", url)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(t.Context(), outbound.Request{URL: url, Secret: credential, Redirects: 3})
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		for i, want := range c.want {
			if host := <-got; host != want && !(i == 2 && strings.HasPrefix(host, want)) {
				t.Errorf("to %q: hop %d got %q, not %q", c.to, i, host, want)
			}
		}
	}
}

func TestOddPathsAndPorts(t *testing.T) {
	w, _ := wallet(t, map[string]Settings{"a": {Secret: "s3cr3t-value", Hosts: []string{
		"api.example.com/v1", "api.example.com/w/", "*.example.org:8443/v1", "wiki.corp/v1",
	}}})
	for address, fits := range map[string]bool{
		"https://api.example.com/v1":                      true,
		"https://api.example.com/v1/x%20y":                true,
		"https://api.example.com/w/":                      true,
		"https://api.example.com:443/w/x":                 true,
		"https://x.example.org:8443/v1":                   true,
		"http://wiki.corp:8080/v1":                        true,
		"https://wiki.corp:8080/v1":                       true,
		"https://api.example.com:8443/v1":                 false,
		"https://api.example.com/v1admin":                 false,
		"https://api.example.com/v1.1":                    false,
		"https://api.example.com/w":                       false,
		"https://api.example.com/v1/%252e%252e/admin":     false,
		"https://api.example.com/v1/%255c..%255cadmin":    false,
		"https://api.example.com/v1/%25252e%25252e/admin": false,
		"https://api.example.com/v1%00/../admin":          false,
		"https://api.example.com/v1/%0d%0ax":              false,
		"https://api.example.com/v1/%7f":                  false,
	} {
		if _, err := w.Find(as(t, "a", ""), "a", "GET", address); (err == nil) != fits {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestWithin(t *testing.T) {
	const value, user = "tok/7+q.Zq8vX2mK9pL4", "ann"
	w, _ := wallet(t, map[string]Settings{
		"bearer": {Hosts: []string{"api.example.com"}, Secret: value},
		"basic":  {Hosts: []string{"api.example.com"}, As: Basic, Secret: user + ":" + value},
	})
	pair := base64.StdEncoding.EncodeToString([]byte(user + ":" + value))
	for name, text := range map[string]string{
		"nothing": "", "as it is": value, "in base64": base64.StdEncoding.EncodeToString([]byte(value)),
		"behind one byte, in base64":  base64.StdEncoding.EncodeToString([]byte("x" + value + "yz")),
		"behind two bytes, in base64": base64.RawURLEncoding.EncodeToString([]byte("xy" + value)),
		"in hex":                      hex.EncodeToString([]byte(value)),
		"in capital hex":              strings.ToUpper(hex.EncodeToString([]byte(value))),
		"in a query":                  url.QueryEscape(value), "as a pair": pair, "only alike": value[:len(value)-1],
	} {
		for _, credential := range []string{"bearer", "basic"} {
			for _, before := range []int{0, 1<<20 - 5, 3<<20 - 1} {
				c, err := w.Find(as(t, "a", ""), credential, "GET", "https://api.example.com/")
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.Within(strings.NewReader(strings.Repeat("-", before) + text + "-"))
				want := name != "nothing" && name != "only alike"
				if name == "as a pair" && credential == "bearer" {
					want = got // it may be found in the pair, but need not
				}
				if err != nil || got != want {
					t.Errorf("%s, %s, behind %d: %t, %v", credential, name, before, got, err)
				}
			}
		}
	}
}

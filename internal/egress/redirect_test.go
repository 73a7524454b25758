package egress_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A trail redirects as configured, and records its requests.
type trail struct {
	mu   sync.Mutex
	hops map[string]http.HandlerFunc // by host and path
	seen []string
}

func (s *trail) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var head []string
	for _, name := range []string{"Authorization", "Cookie", "X-Api-Key", "Content-Type", "Referer", "Accept-Language",
		"User-Agent"} {
		if v := r.Header.Get(name); v != "" {
			head = append(head, name+"="+v)
		}
	}
	s.mu.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s%s body=%q %s", r.Method, r.Host, r.URL.Path, body,
		strings.Join(head, " ")))
	hop := s.hops[r.Host+r.URL.Path]
	s.mu.Unlock()
	if hop == nil {
		_, _ = io.WriteString(w, "end")
		return
	}
	hop(w, r)
}

func to(status int, location string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Location", location)
		w.WriteHeader(status)
	}
}

// secretFor is a credential for one host.
type secretFor struct{ host string }

func (s secretFor) Attach(_ context.Context, r *http.Request) (bool, error) {
	if r.URL.Host != s.host {
		return false, nil
	}
	r.Header.Set("Authorization", "Bearer canary")
	return true, nil
}

func TestRedirects(t *testing.T) {
	s := &trail{hops: map[string]http.HandlerFunc{
		"a.example.org/same301":  to(301, "/end"),
		"a.example.org/same302":  to(302, "end?x=1#frag"),
		"a.example.org/same303":  to(303, "http://a.example.org:80/end"),
		"a.example.org/same307":  to(307, "//a.example.org/end"),
		"a.example.org/same308":  to(308, "/end"),
		"a.example.org/other301": to(301, "http://b.example.org/end"),
		"a.example.org/other302": to(302, "http://b.example.org/back"),
		"a.example.org/other307": to(307, "http://b.example.org/end"),
		"a.example.org/other308": to(308, "https://a.example.org/end"),
		"b.example.org/back":     to(302, "http://a.example.org/end"),
		"a.example.org/port":     to(302, "http://a.example.org:8080/end"),
		"a.example.org/up":       to(302, "https://a.example.org/end"),
		"a.example.org/user":     to(302, "http://u:p@b.example.org/end"),
	}}
	c, _ := web(t, egress.ClientOptions{}, s.ServeHTTP, "a.example.org", "b.example.org", "a.example.org:8080")
	const all = "Authorization=Bearer canary X-Api-Key=key"
	const few = "Accept-Language=de User-Agent=me"
	tests := []struct {
		method, path, last string
		kind               tool.Kind
	}{
		{"GET", "same301", `GET a.example.org/end body="" ` + all + " " + few, ""},
		{"POST", "same301", `GET a.example.org/end body="" ` + all + " " + few, ""},
		{"POST", "same302", `GET a.example.org/end body="" ` + all + " " + few, ""},
		{"PUT", "same303", `GET a.example.org/end body="" ` + all + " " + few, ""},
		{"HEAD", "same303", `HEAD a.example.org/end body="" ` + all + " " + few, ""},
		{"POST", "same307",
			`POST a.example.org/end body="data" Authorization=Bearer canary X-Api-Key=key Content-Type=text/plain ` +
				few, ""},
		{"PATCH", "same308",
			`PATCH a.example.org/end body="data" Authorization=Bearer canary X-Api-Key=key Content-Type=text/plain ` +
				few, ""},
		{"POST", "other301", `GET b.example.org/end body="" ` + few, ""},
		{"GET", "other307", `GET b.example.org/end body="" ` + few, ""},
		{"GET", "other302", `GET a.example.org/end body="" Authorization=Bearer canary ` + few, ""},
		{"GET", "port", `GET a.example.org:8080/end body="" ` + few, ""},
		{"GET", "up", `GET a.example.org/end body="" Authorization=Bearer canary ` + few, ""},
		{"POST", "other307", "", tool.Refused},
		{"DELETE", "other307", "", tool.Refused},
		{"POST", "other308", "", tool.Refused},
		{"GET", "user", "", tool.Invalid},
	}
	for _, test := range tests {
		s.seen = nil
		r := outbound.Request{Method: test.method, URL: "http://a.example.org/" + test.path, Redirects: 5,
			Secret: secretFor{"a.example.org"},
			Header: http.Header{"X-Api-Key": {"key"}, "Accept-Language": {"de"}, "User-Agent": {"me"},
				"Referer": {"http://private.example/"}}}
		if test.method != "GET" && test.method != "HEAD" && test.method != "DELETE" {
			r.Body = []byte("data")
			r.Header.Set("Content-Type", "text/plain")
		}
		a, _, err := get(t.Context(), c, r)
		if kind(err) != test.kind {
			t.Errorf("%s %s: %v", test.method, test.path, err)
			continue
		}
		if err == nil && s.seen[len(s.seen)-1] != test.last {
			t.Errorf("%s %s:\n%q\nwant %q", test.method, test.path, s.seen, test.last)
		}
		if err == nil && (a.Via[0] != r.URL || strings.Contains(a.URL, "#") || len(a.Via) != len(s.seen)-1) {
			t.Errorf("%s %s: %q by %q", test.method, test.path, a.URL, a.Via)
		}
		if err != nil && len(s.seen) > 1 {
			t.Errorf("%s %s: sent on all the same: %q", test.method, test.path, s.seen)
		}
	}
}

func TestRedirectErrors(t *testing.T) {
	s := &trail{hops: map[string]http.HandlerFunc{
		"a.example.org/loop":    to(302, "/loop"),
		"a.example.org/l1":      to(302, "/l2"),
		"a.example.org/l2":      to(307, "/l1"),
		"a.example.org/nowhere": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(302) },
		"a.example.org/down":    to(301, "http://a.example.org/end"),
		"a.example.org/long":    to(301, "/"+strings.Repeat("x", 9000)),
		"a.example.org/file":    to(301, "file:///etc/passwd"),
		"a.example.org/inside":  to(301, "http://169.254.169.254/latest"),
		"a.example.org/bad":     to(301, "http://a b/"),
	}}
	for i := range 30 {
		s.hops[fmt.Sprintf("a.example.org/n%d", i)] = to(302, fmt.Sprintf("/n%d", i+1))
	}
	c, _ := web(t, egress.ClientOptions{}, s.ServeHTTP, "a.example.org")
	for path, want := range map[string]string{"loop": "loop", "l1": "loop", "nowhere": "without a Location",
		"down": "not encrypted", "long": "8192", "file": `"file"`, "inside": "169.254.169.254", "bad": "URL",
		"n0": "more than 5 times"} {
		_, _, err := get(t.Context(), c, outbound.Request{URL: "https://a.example.org/" + path, Redirects: 5})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", path, err, want)
		}
	}
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/n0",
		Redirects: 1 << 30}); err == nil || !strings.Contains(err.Error(), "20 times") {
		t.Errorf("endless: %v", err)
	}
	a, _, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/n0"})
	if err != nil || a.Status != 302 || a.Header.Get("Location") != "/n1" || len(a.Via) > 0 {
		t.Errorf("none is followed: %+v, %v", a, err)
	}
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/n25", Redirects: 5}); err != nil {
		t.Errorf("five: %v", err)
	}
}

// TestCookies checks that cookies exist for one exchange, at the hosts that set them.
func TestCookies(t *testing.T) {
	s := &trail{}
	s.hops = map[string]http.HandlerFunc{
		"a.example.org/": func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Cookie") != "" {
				_, _ = io.WriteString(w, "in")
				return
			}
			http.SetCookie(w, &http.Cookie{Name: "id", Value: "canary", Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "wide", Value: "x", Domain: "org", Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "foreign", Value: "x", Domain: "b.example.com", Path: "/"})
			http.Redirect(w, r, "/", http.StatusFound)
		},
		"a.example.org/leave": func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "id", Value: "canary", Path: "/"})
			http.Redirect(w, r, "http://b.example.com/", http.StatusFound)
		},
		"b.example.com/": to(302, "http://a.example.org/end"),
	}
	c, _ := web(t, egress.ClientOptions{}, s.ServeHTTP, "a.example.org", "b.example.com")
	if _, text, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/",
		Redirects: 3}); text != "in" || err != nil {
		t.Errorf("%q, %v: %q", text, err, s.seen)
	}
	s.seen = nil
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/leave", Redirects: 3}); err != nil {
		t.Error(err)
	}
	want := []string{`GET a.example.org/leave body="" User-Agent=mcp-tools`,
		`GET b.example.com/ body="" User-Agent=mcp-tools`,
		`GET a.example.org/end body="" Cookie=id=canary User-Agent=mcp-tools`}
	if !slices.Equal(s.seen, want) {
		t.Errorf("%q", s.seen)
	}
	s.seen = nil
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/end"}); err != nil ||
		strings.Contains(s.seen[0], "canary") {
		t.Errorf("another request has the cookie: %q, %v", s.seen, err)
	}
}

// badSecret changes a request in a way that is not allowed.
type badSecret func(r *http.Request) error

func (s badSecret) Attach(_ context.Context, r *http.Request) (bool, error) { return true, s(r) }

func TestSecrets(t *testing.T) {
	s := &trail{}
	c, _ := web(t, egress.ClientOptions{}, s.ServeHTTP, "a.example.org", "b.example.org")
	ask := func(secret badSecret) (*outbound.Answer, error) {
		a, _, err := get(t.Context(), c, outbound.Request{URL: "http://a.example.org/?a=b", Secret: secret})
		return a, err
	}
	for name, secret := range map[string]badSecret{
		"host":   func(r *http.Request) error { r.URL.Host = "b.example.org"; return nil },
		"scheme": func(r *http.Request) error { r.URL.Scheme = "https"; return nil },
		"Host":   func(r *http.Request) error { r.Host = "b.example.org"; return nil },
		"error":  func(*http.Request) error { return errors.New("the vault says canary") },
	} {
		if _, err := ask(secret); kind(err) != tool.Internal || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(s.seen) > 0 {
		t.Errorf("sent all the same: %q", s.seen)
	}
	if _, err := ask(func(*http.Request) error {
		return tool.Errorf(tool.Refused,
			"not for GET")
	}); kind(err) != tool.Refused {
		t.Error(err)
	}
	a, err := ask(func(r *http.Request) error { r.URL.RawQuery += "&key=canary"; return nil })
	if err != nil || strings.Contains(a.URL, "canary") {
		t.Errorf("%+v, %v", a, err)
	}
}

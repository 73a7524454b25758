package server

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// knock sends a request to the door without a network in between, so that it
// can have what no client of Go's would send.
func knock(t *testing.T, path string, change func(*http.Request)) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Host = "localhost"
	change(r)
	w := httptest.NewRecorder()
	newDoor(newTestServer(t)).Handler().ServeHTTP(w, r)
	return w
}

func TestEveryOriginIsChecked(t *testing.T) {
	for _, origins := range [][]string{{"http://localhost", evil}, {evil, "http://localhost"},
		{"http://localhost, " + evil}} {
		w := knock(t, "/mcp", func(r *http.Request) { r.Header["Origin"] = origins })
		if allowed := w.Header().Get("Access-Control-Allow-Origin"); w.Code != http.StatusForbidden || allowed != "" {
			t.Errorf("%q got %d, and %q may read it", origins, w.Code, allowed)
		}
	}
}

func TestRefusalsAtTheDoorAreScrubbed(t *testing.T) {
	w := knock(t, "/mcp/"+plantedKey(), func(r *http.Request) { r.Header.Set("Authorization", "Bearer alice") })
	if w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), plantedKey()) {
		t.Errorf("got %d %s", w.Code, w.Body)
	}
}

func TestOwnGuard(t *testing.T) {
	g := Guard{Hosts: []string{"tools.example.com"}, Origins: []string{"https://page.example.com"}, Addresses: true}
	for name, test := range map[string]struct {
		host, origin string
		status       int
	}{
		"loopback":                {"localhost:9090", "", 200},
		"a name that it has":      {"TOOLS.example.com:9090", "", 200},
		"an address":              {"10.1.2.3:9090", "", 200},
		"an address, no port":     {"10.1.2.3", "", 200},
		"an address of version 6": {"[fd00::1]:9090", "", 200},
		"a name of a page":        {"evil.example.com:9090", "", 403},
		"a name like an address":  {"10.1.2.3.example.com", "", 403},
		"no name":                 {"", "", 403},
		"a page that may":         {"localhost", "https://page.example.com", 200},
		"a page from elsewhere":   {"localhost", evil, 403},
	} {
		t.Run(name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), "GET", "/metrics", nil)
			r.Host = test.host
			if test.origin != "" {
				r.Header.Set("Origin", test.origin)
			}
			w := httptest.NewRecorder()
			g.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(w, r)
			if readers := w.Header().Get("Access-Control-Allow-Origin"); w.Code != test.status || readers != "" {
				t.Errorf("got %d, and %q may read it; want %d", w.Code, readers, test.status)
			}
		})
	}
	if w := knock(t, "/mcp", func(r *http.Request) { r.Host = "10.1.2.3" }); w.Code != http.StatusForbidden {
		t.Errorf("the door takes any address: %d", w.Code)
	}
}

// TestReadinessKnowsTheDisk expects that a server which cannot record calls is not
// ready, so that a balancer sends them elsewhere.
func TestReadinessKnowsTheDisk(t *testing.T) {
	var full error
	b := newTestServer(t, func(c *Config) { c.Ready = func() error { return full } })
	h := &HTTP{Server: b.Server}
	for want, err := range map[int]error{200: nil, 503: errors.New("no space left on device")} {
		full = err
		w := httptest.NewRecorder()
		if !h.probe(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)) || w.Code != want {
			t.Errorf("with %v: %d, want %d", err, w.Code, want)
		}
	}
}

// TestCallsKnowTheDisk expects status 503 for calls that cannot be recorded, and only for them.
func TestCallsKnowTheDisk(t *testing.T) {
	var full error
	b := newTestServer(t, func(c *Config) {
		c.Failing = func() error { return full }
		c.Lacks = func() string { return "the key of the vault" }
	})
	h := &HTTP{Server: b.Server, MaxMessage: 1 << 20}
	h.sessions = newSessionTable(b.Server, 10)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.post(w, r, Access{}) }))
	defer web.Close()
	post := func(body string) int {
		r, err := web.Client().Post(web.URL, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	call := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"datetime"}}`
	if code := post(call); code == 503 {
		t.Errorf("a call on a good disk has status %d", code)
	}
	full = errors.New("no space left on device")
	if code := post(call); code != 503 {
		t.Errorf("a call on a full disk has status %d", code)
	}
	if code := post(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); code == 503 {
		t.Errorf("a list on a full disk has status %d", code)
	}
	w := httptest.NewRecorder()
	h.probe(w, httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil))
	if got := strings.TrimSpace(w.Body.String()); w.Code != 200 || got != "ready, without the key of the vault" {
		t.Errorf("%d %q", w.Code, got)
	}
}

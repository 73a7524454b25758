package egress_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestRobots(t *testing.T) {
	var fetched atomic.Int64
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/robots.txt" {
			if r.URL.Path == "/moved" {
				http.Redirect(w, r, "http://closed.example.org/private", http.StatusFound)
			}
			_, _ = io.WriteString(w, "page")
			return
		}
		fetched.Add(1)
		if r.Header.Get("X-Key")+r.Header.Get("Authorization") != "" {
			t.Errorf("robots.txt is asked with %v", r.Header)
		}
		switch name, _, _ := strings.Cut(r.Host, "."); name {
		case "closed":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n")
		case "down":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "none":
			w.WriteHeader(http.StatusForbidden)
		case "huge":
			_, _ = io.WriteString(w, "User-agent: *\nDisallow: /private\n"+strings.Repeat("# nothing\n", 100<<10)+
				"Disallow: /\n")
		case "moved":
			http.Redirect(w, r, "http://closed.example.org/robots.txt", http.StatusMovedPermanently)
		case "inside":
			http.Redirect(w, r, "http://127.0.0.1/robots.txt", http.StatusMovedPermanently)
		}
	}, "closed.example.org", "down.example.org", "none.example.org", "huge.example.org", "moved.example.org",
		"inside.example.org")
	for url, want := range map[string]tool.Kind{
		"closed.example.org/x": "", "closed.example.org/private/x": tool.Refused, "down.example.org/": tool.Refused,
		"none.example.org/private": "",
		"huge.example.org/x":       "", "huge.example.org/private": tool.Refused, "moved.example.org/x": "",
		"moved.example.org/private": tool.Refused, "none.example.org/moved": tool.Refused,
		"inside.example.org/": tool.Refused, "absent.example.org/": tool.NotFound,
	} {
		r := outbound.Request{URL: "http://" + url, Robots: true, Redirects: 3, Header: http.Header{"X-Key": {"x"}},
			Secret: secretFor{"closed.example.org"}}
		if _, _, err := get(t.Context(), c, r); kind(err) != want {
			t.Errorf("%s: %v; want %q", url, err, want)
		}
		r.Robots = false
		if _, _, err := get(t.Context(), c, r); want == tool.Refused && err != nil {
			t.Errorf("%s, not asking robots.txt: %v", url, err)
		}
	}
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://down.example.org/robots.txt",
		Robots: true}); err != nil {
		t.Errorf("robots.txt itself: %v", err)
	}
	before := fetched.Load()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://closed.example.org/y",
				Robots: true}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := fetched.Load() - before; n != 0 {
		t.Errorf("robots.txt was fetched %d times more", n)
	}
}

func TestPauses(t *testing.T) {
	c, _ := web(t, egress.ClientOptions{}, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/limited" {
			w.Header().Set("Retry-After", "3600")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}, "www.example.org", "b.example.org")
	a, _, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org/limited"})
	if err != nil || a.Status != http.StatusTooManyRequests {
		t.Fatal(a, err)
	}
	if _, _, err := get(t.Context(), c, outbound.Request{URL: "http://www.example.org/",
		Polite: true}); kind(err) != tool.Busy || !strings.Contains(err.Error(), "1h0m0s") {
		t.Error(err)
	}
	for _, r := range []outbound.Request{{URL: "http://www.example.org/"},
		{URL: "http://b.example.org/", Polite: true}} {
		if _, _, err := get(t.Context(), c, r); err != nil {
			t.Errorf("%+v: %v", r, err)
		}
	}
}

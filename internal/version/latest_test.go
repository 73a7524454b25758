package version

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
)

func TestLatestRelease(t *testing.T) {
	asked := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		switch r.URL.Path {
		case "/latest.json":
			fmt.Fprint(w, `{"tag_name": "v99.1.0", "html_url": "https://host.example.com/v99.1.0", "assets": []}`)
		case "/page":
			fmt.Fprint(w, `<html>`)
		case "/other":
			fmt.Fprint(w, `{"name": "something"}`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer srv.Close()
	client := newTestClient(t, srv.URL)
	got, err := AskLatest(t.Context(), client, srv.URL+"/latest.json")
	want := Latest{String(), "v99.1.0", "https://host.example.com/v99.1.0", true}
	if err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for path, want := range map[string]string{
		srv.URL + "/page":    "is no release",
		srv.URL + "/other":   "has no tag_name",
		srv.URL + "/missing": "the status 404",
	} {
		if _, err := AskLatest(t.Context(), client, path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %q", path, err, want)
		}
	}
	if asked != 4 {
		t.Errorf("%d requests, want 4", asked)
	}
	for current, newer := range map[string]bool{
		"v99.0.0": true, "v99.1.0": false, "v99.2.0-rc.1": false, "dev-0123456789ab": true,
		"v0.0.0-20261123040000-0123456789ab+dirty": true,
	} {
		got, err := askLatest(t.Context(), newTestClient(t, srv.URL), srv.URL+"/latest.json", current)
		if err != nil || got.Newer != newer {
			t.Errorf("%s: %+v, %v; want newer %v", current, got, err, newer)
		}
	}
}

func newTestClient(t *testing.T, url string) *egress.Client {
	client, err := egress.NewClient(egress.ClientOptions{
		Rules: func(string) (egress.Rules, error) {
			return egress.Rules{AllowPrivate: []string{netaddr.OfURL(url)}}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

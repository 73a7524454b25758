package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/egress/tricktest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestInternalAddressesAreRefused tries every door of the tools with every trick, while a
// server plays what is inside; and the same doors with a host that is outside.
func TestInternalAddressesAreRefused(t *testing.T) {
	var reached atomic.Int64
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer inside.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(inside.URL, "http://"), ":")
	all, answers := tricktest.URLs(port)

	var to string
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/away" {
			_, _ = w.Write([]byte("<p>Outside it is fine.</p>"))
			return
		}
		w.Header()["Location"] = []string{to}
		w.WriteHeader(http.StatusFound)
	}))
	defer front.Close()
	net := egresstest.New(t, map[string]*httptest.Server{"docs.example.com": front})
	for name, addresses := range answers {
		net.Resolve(name, addresses...)
	}
	n := newNet(t, echo)
	n.Client, n.Cache, n.Files, n.Scratch = net.Client(t), nil, saved{}, t.TempDir()

	doors := map[string]func(url string) (tool.Result, error){
		"web_fetch":    func(url string) (tool.Result, error) { return fetch(t, n, fetchArgs{URL: url}) },
		"http_request": func(url string) (tool.Result, error) { return request(t, n, requestArgs{URL: url}) },
		"post": func(url string) (tool.Result, error) {
			return request(t, n, requestArgs{URL: url, Method: "POST", Body: "x"})
		},
		"download": func(url string) (tool.Result, error) { return request(t, n, requestArgs{URL: url, Path: "x"}) },
		"redirect": func(url string) (tool.Result, error) {
			if to = url; strings.ContainsAny(url, "\r\n\x00") {
				return tool.Result{}, tool.Errorf(tool.Invalid, "no header can hold it")
			}
			return fetch(t, n, fetchArgs{URL: "https://docs.example.com/away"})
		},
	}
	for name, door := range doors {
		through := 0
		for _, url := range all {
			r, err := door(url)
			if err == nil && !r.Failed && !strings.Contains(r.Text(), "Outside it is fine") {
				through++
				t.Errorf("%s: %q was answered: %s", name, url, r.Text())
			}
		}
		if through == 0 && reached.Load() > 0 {
			t.Errorf("%s: what is inside was reached %d times", name, reached.Swap(0))
		}
	}
	if len(all) < 80 {
		t.Errorf("only %d tricks", len(all))
	}
	for _, name := range []string{"web_fetch", "http_request", "download"} {
		if r, err := doors[name]("https://docs.example.com/"); err != nil || r.Failed {
			t.Errorf("%s does not reach an ordinary host: %v %s", name, err, r.Text())
		}
	}
}

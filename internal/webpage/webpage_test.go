package webpage

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestGuard sends requests that pages of the site make, and those of others.
func TestGuard(t *testing.T) {
	const own = "tools.example.com"
	var why, body string
	var readErr error
	guard := func(secure bool) http.Handler {
		return Guard{
			Policy: "default-src 'none'", Hosts: func() []string { return []string{own} }, Secure: secure, MaxForm: 10, WrongHost: "elsewhere",
			Refuse: func(w http.ResponseWriter, _ *http.Request, reason, text string) {
				why = reason
				http.Error(w, text, http.StatusForbidden)
			},
		}.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			var text []byte
			text, readErr = io.ReadAll(r.Body)
			body = string(text)
		}))
	}
	for _, c := range []struct {
		name, method, host, header, value, body string
		plain                                   bool // the site is not reached by https
		want                                    string
	}{
		{name: "page", method: "GET", host: own},
		{name: "another case", method: "GET", host: "Tools.Example.COM"},
		{name: "form", method: "POST", host: own, header: "Sec-Fetch-Site", value: "same-origin", body: "a=b"},
		{name: "form of an old browser", method: "POST", host: own, header: "Origin", value: "https://" + own, body: "a=b"},
		{name: "form of a program", method: "POST", host: own, body: "a=b"},
		{name: "link on another site", method: "GET", host: own, header: "Sec-Fetch-Site", value: "cross-site"},
		{name: "site without https", method: "POST", host: own, header: "Origin", value: "http://" + own, plain: true},
		{name: "another host", method: "GET", host: "rebound.example", want: "another host: rebound.example"},
		{name: "another port", method: "GET", host: own + ":8443", want: "another host"},
		{name: "host that ends alike", method: "GET", host: "x" + own, want: "another host"},
		{name: "long host", method: "GET", host: strings.Repeat("a", 500), want: "another host"},
		{name: "form of another site", method: "POST", host: own, header: "Sec-Fetch-Site", value: "cross-site", want: "a form of another page"},
		{name: "form of a sister", method: "POST", host: own, header: "Sec-Fetch-Site", value: "same-site", want: "a form of another page"},
		{name: "form of another origin", method: "POST", host: own, header: "Origin", value: "https://evil.example",
			want: "a form of another page: https://evil.example"},
		{name: "form of the same name by http", method: "POST", host: own, header: "Origin", value: "http://" + own, want: "a form of another page"},
		{name: "form of the same name by https", method: "POST", host: own, header: "Origin", value: "https://" + own, plain: true,
			want: "a form of another page"},
		{name: "form without an origin", method: "POST", host: own, header: "Origin", value: "null", want: "a form of another page"},
	} {
		t.Run(c.name, func(t *testing.T) {
			why, body = "", ""
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/page", strings.NewReader(c.body))
			r.Host = c.host
			if c.header != "" {
				r.Header.Set(c.header, c.value)
			}
			rec := httptest.NewRecorder()
			guard(!c.plain).ServeHTTP(rec, r)
			if (c.want == "") != (why == "") || !strings.Contains(why, c.want) || body != c.body && c.want == "" || len(why) > 200 {
				t.Errorf("refused: %q, body %q; want %q", why, body, c.want)
			}
			for name, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Frame-Options": "DENY",
				"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"} {
				if got := rec.Header().Get(name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
		})
	}
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/page", strings.NewReader("longer than ten"))
	r.Host = own
	guard(true).ServeHTTP(httptest.NewRecorder(), r)
	if readErr == nil {
		t.Error("a form that is too long was read")
	}
}

func TestRefusals(t *testing.T) {
	var r Refusals
	for i := range MaxRefusals {
		if !r.Record() {
			t.Fatalf("refusal %d is not recorded", i)
		}
	}
	if r.Record() {
		t.Error("more are recorded")
	}
	r.since = r.since.Add(-2 * time.Minute)
	if !r.Record() {
		t.Error("none is recorded in the next minute")
	}
}

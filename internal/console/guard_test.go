package console

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/room"
)

// TestLinkOnce opens the console with a link, which counts once and is not used up by
// programs that look at it.
func TestLinkOnce(t *testing.T) {
	f := newFixture(t)
	link := f.server.URL + f.console.Link(room.Person{Name: "ann"})
	previewer := f.newClient()
	for range 3 {
		seen := previewer.send("GET", link, nil)
		if seen.status != http.StatusOK || seen.header.Get("Set-Cookie") != "" || strings.Contains(seen.text, "/c/") {
			t.Fatalf("a GET got %d, %q: %s", seen.status, seen.header.Get("Set-Cookie"), seen.text)
		}
	}
	other := previewer.send("GET", f.server.URL+"/open/"+strings.Repeat("a", 52), nil)
	same := strings.ReplaceAll(previewer.send("GET", link, nil).text, link[strings.LastIndex(link, "/")+1:],
		strings.Repeat("a", 52))
	if other.text != same {
		t.Error("a GET discloses whether there is such a link")
	}
	c := f.newClient()
	c.arrived(c.send("POST", link, nil))
	if again := f.newClient().send("POST", link, nil); again.status != http.StatusForbidden ||
		again.header.Get("Set-Cookie") != "" {
		t.Errorf("the second use got %d", again.status)
	}
	if got := f.refused(); !slices.Equal(got, []string{"a link that was used or has expired"}) {
		t.Errorf("recorded are %q", got)
	}
}

func TestLinkExpires(t *testing.T) {
	f := newFixture(t)
	link := f.server.URL + f.console.Link(room.Person{Name: "ann"})
	f.console.sessions.now = func() time.Time { return time.Now().Add(linkAge + time.Second) }
	if late := f.newClient().send("POST", link, nil); late.status != http.StatusForbidden {
		t.Errorf("an expired link got %d", late.status)
	}
}

// TestPathAndCookie needs both for a session.
func TestPathAndCookie(t *testing.T) {
	f := newFixture(t)
	ann, ben := f.openLink(), f.openLink()
	jar := func(c *client) *http.Cookie {
		u, err := url.Parse(c.base + "/")
		if err != nil {
			t.Fatal(err)
		}
		return c.http.Jar.Cookies(u)[0]
	}
	with := func(cookie *http.Cookie) func(*http.Request) {
		return func(r *http.Request) { r.AddCookie(cookie) }
	}
	for _, test := range []struct {
		name, to string
		set      func(*http.Request)
		refused  string // "" is let in
	}{
		{"both", ann.base, with(jar(ann)), ""},
		{"a path without its cookie", ann.base, func(*http.Request) {}, "a path without the cookie of its session"},
		{"the cookie of another", ann.base, with(jar(ben)), "a path without the cookie of its session"},
		{"a stolen cookie", f.server.URL + "/c/" + strings.Repeat("a", 26), with(jar(ann)),
			"a cookie without the path of its session"},
		{"an unknown path", f.server.URL + "/c/x", func(*http.Request) {}, "a path without a session"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(f.refused())
			for _, page := range []string{"/questions", "/none"} {
				got := f.newClient().send("GET", test.to+page, nil, test.set)
				if test.refused == "" {
					if strings.Contains(got.text, "is not open any more") {
						t.Errorf("it was refused: %s", got.text)
					}
				} else if got.status != http.StatusForbidden || strings.Contains(got.text, "csrf") {
					t.Errorf("%s got %d: %s", page, got.status, got.text)
				}
			}
			if got := f.refused()[before:]; test.refused != "" && !slices.Equal(got, []string{test.refused, test.refused}) {
				t.Errorf("recorded are %q", got)
			}
		})
	}
}

// TestFixation sends a path and a cookie with the login: the session has others.
func TestFixation(t *testing.T) {
	f := newFixture(t)
	victim := f.newClient()
	u, err := url.Parse(f.server.URL)
	if err != nil {
		t.Fatal(err)
	}
	victim.http.Jar.SetCookies(u, []*http.Cookie{{Name: "mcp-tools", Value: "chosen", Path: "/"}})
	victim.arrived(victim.send("POST", f.server.URL+f.console.Link(room.Person{Name: "ann"}), nil))
	attacker := f.newClient()
	got := attacker.send("GET", victim.base+"/questions", nil, func(r *http.Request) {
		r.AddCookie(&http.Cookie{Name: "mcp-tools", Value: "chosen"})
	})
	if got.status != http.StatusForbidden {
		t.Errorf("the chosen cookie got %d", got.status)
	}
	if got := victim.get("questions"); got.status != http.StatusOK { // beside the cookie of the attacker
		t.Errorf("the victim got %d", got.status)
	}
}

// TestForeignForms sends forms that no page of the console has sent.
func TestForeignForms(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	csrf := url.Values{"csrf": {c.csrf}}
	for _, test := range []struct {
		name string
		form url.Values
		set  func(*http.Request)
		want int
	}{
		{"no token", url.Values{}, func(*http.Request) {}, http.StatusForbidden},
		{"a wrong token", url.Values{"csrf": {strings.Repeat("a", 26)}}, func(*http.Request) {}, http.StatusForbidden},
		{"the token in the query", url.Values{"x": {c.csrf}}, func(r *http.Request) { r.URL.RawQuery = csrf.Encode() },
			http.StatusForbidden},
		{"another site", csrf, header("Sec-Fetch-Site", "cross-site"), http.StatusForbidden},
		{"another port", csrf, header("Sec-Fetch-Site", "same-site"), http.StatusForbidden},
		{"another origin", csrf, header("Origin", "http://evil.example"), http.StatusForbidden},
		{"no origin", csrf, header("Origin", "null"), http.StatusForbidden},
		{"an origin of another port", csrf, header("Origin", "http://127.0.0.1:1"), http.StatusForbidden},
		{"https", csrf, header("Origin", strings.Replace(f.server.URL, "http:", "https:", 1)), http.StatusForbidden},
		{"its own page", csrf, header("Origin", f.server.URL), http.StatusOK},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := len(f.done())
			got := c.send("POST", c.base+"/do/pauses/pause", test.form, test.set)
			if got.status != test.want || len(f.done()) > before != (test.want == http.StatusOK) {
				t.Errorf("got %d, and %q were done", got.status, f.done()[before:])
			}
		})
	}
	for _, path := range []string{"/login", f.console.Link(room.Person{})} {
		if got := f.newClient().send("POST", f.server.URL+path, url.Values{"token": {good}},
			header("Sec-Fetch-Site", "cross-site")); got.status != http.StatusForbidden {
			t.Errorf("a login from another site got %d", got.status)
		}
	}
}

// TestOtherHosts sends requests under names that a page can make lead here.
func TestOtherHosts(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	for _, host := range []string{"evil.example", "127.0.0.1", "localhost:1", "[::1]:80", "", f.console.Hosts[0] + ".evil.example"} {
		for _, path := range []string{"/", "/console.js", strings.TrimPrefix(c.base, f.server.URL) + "/questions"} {
			got := c.send("GET", f.server.URL+path, nil, func(r *http.Request) { r.Host = host })
			if host != "" && got.status != http.StatusForbidden {
				t.Errorf("%s%s got %d", host, path, got.status)
			}
		}
	}
	if got := f.refused(); len(got) == 0 || !strings.HasPrefix(got[0], "a request for another host: evil.example") {
		t.Errorf("recorded are %q", got)
	}
}

// TestHeaders looks at the headers of all kinds of answers.
func TestHeaders(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	for _, path := range []string{"/", "/open/x", "/none", "/console.js", "/console.css", "/questions/abcd2345efgh"} {
		check(t, path, c.send("GET", f.server.URL+path, nil).header)
	}
	for _, page := range []string{"questions", "none", ""} {
		check(t, page, c.get(page).header)
	}
}

func check(t *testing.T, path string, h http.Header) {
	t.Helper()
	csp := h.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'",
		"require-trusted-types-for 'script'"} {
		if !strings.Contains(csp, want) {
			t.Errorf("%s: the policy %q has no %q", path, csp, want)
		}
	}
	if strings.Contains(csp, "unsafe") {
		t.Errorf("%s: the policy is %q", path, csp)
	}
	for name, want := range map[string]string{"X-Frame-Options": "DENY", "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "same-origin", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": "no-store"} {
		if got := h.Get(name); got != want {
			t.Errorf("%s: %s is %q", path, name, got)
		}
	}
}

func TestCookie(t *testing.T) {
	for _, secure := range []bool{false, true} {
		f := newFixture(t)
		f.console.Secure = secure
		c := f.newClient()
		c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		got := c.send("POST", f.server.URL+f.console.Link(room.Person{}), nil).header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=/c/"} {
			if !strings.Contains(got, want) {
				t.Errorf("the cookie is %q", got)
			}
		}
		if strings.Contains(got, "Secure") != secure || strings.Contains(got, "Domain") {
			t.Errorf("the cookie is %q", got)
		}
	}
}

func TestTokens(t *testing.T) {
	f := newFixture(t)
	if got := f.newClient().send("POST", f.server.URL+"/login", url.Values{"token": {"wrong"}}); got.status !=
		http.StatusForbidden || strings.Contains(got.text, "not valid") {
		t.Errorf("a wrong token got %d: %s", got.status, got.text)
	}
	c := f.newClient()
	id := f.ask(someCall())
	c.arrived(c.send("POST", f.server.URL+"/login", url.Values{"token": {good}, "next": {"questions/" + id}}))
	for _, next := range []string{"//evil.example", "https://evil.example", "questions/../../x", "/login"} {
		c := f.newClient()
		if got := c.send("POST", f.server.URL+"/login", url.Values{"token": {good}, "next": {next}}); !strings.HasSuffix(
			got.path, "/questions") {
			t.Errorf("after the login with %q the page is %s", next, got.path)
		}
	}
	f.mu.Lock()
	delete(f.person, good)
	f.mu.Unlock()
	if got := c.get("questions"); got.status != http.StatusForbidden {
		t.Errorf("a revoked token got %d", got.status)
	}
}

func TestTooManyLogins(t *testing.T) {
	f := newFixture(t)
	now := time.Now()
	f.console.sessions.now = func() time.Time { return now }
	var last answer
	for range 11 {
		last = f.newClient().send("POST", f.server.URL+"/login", url.Values{"token": {"wrong"}})
	}
	if last.status != http.StatusTooManyRequests {
		t.Errorf("the last login got %d", last.status)
	}
}

func TestLogOut(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	c.send("POST", c.base+"/logout", url.Values{"csrf": {c.csrf}})
	if got := c.get("questions"); got.status != http.StatusForbidden {
		t.Errorf("after the logout: %d", got.status)
	}
}

// TestSessionsExpire forgets sessions that are not used, and the oldest if there are many.
func TestSessionsExpire(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	f.console.sessions.now = func() time.Time { return time.Now().Add(sessionAge + time.Minute) }
	if got := c.get("questions"); got.status != http.StatusForbidden {
		t.Errorf("an old session got %d", got.status)
	}
	s := newSessions()
	for range 3 * maxSessions {
		s.begin(room.Person{}, nil)
	}
	if len(s.byPath) != maxSessions {
		t.Errorf("there are %d sessions", len(s.byPath))
	}
}

// TestEvents sends an event when a question comes, and says when the console ends.
func TestEvents(t *testing.T) {
	f := newFixture(t)
	c := f.openLink()
	c.http.Timeout = 0
	r, err := http.NewRequestWithContext(t.Context(), "GET", c.base+"/events?of=questions", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text := ""
	until := func(want string) {
		t.Helper()
		buffer := make([]byte, 1000)
		for !strings.Contains(text, want) {
			n, err := response.Body.Read(buffer)
			text += string(buffer[:n])
			if err != nil && !(err == io.EOF && strings.Contains(text, want)) {
				t.Fatalf("the stream ended with %v after %q", err, text)
			}
		}
	}
	until("retry")
	f.ask(someCall())
	until("event: changed")
	if attended, err := f.asks.Attended(t.Context()); err != nil || !attended {
		t.Errorf("with an open page there is a person: %v, %v", attended, err)
	}
	f.console.Close()
	until("event: ended")
}

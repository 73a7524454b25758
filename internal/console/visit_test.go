package console

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A sender sends people to a page of another site, and passes on the query of their return.
type sender struct {
	address string // of its page; the state follows
	back    chan string
}

func (s *sender) room() *room.Room {
	type args struct {
		Name string `json:"name" jsonschema:"the server"`
	}
	return &room.Room{Name: "bridge", Title: "Servers", Verbs: []room.Verb{room.Do(room.Verb{
		Name: "login", Title: "Log in", Args: []string{"name"}, Risk: tool.Writes, Where: room.Console, Visits: true,
	}, func(ctx context.Context, a args) (r tool.Result, err error) {
		if a.Name == "panic" {
			panic("a fault of the verb")
		}
		browser := room.BrowserOf(ctx)
		back, err := browser.Return()
		if err != nil {
			return r, err
		}
		s.back <- back
		q, err := browser.Visit(ctx, s.address+a.Name)
		if err != nil {
			return r, err
		}
		if q.Get("error") != "" {
			return r, tool.Errorf(tool.Refused, "the login was refused: %s", q.Get("error_description"))
		}
		return tool.Textf("%s came back with the code %s of %s", room.By(ctx).Name, q.Get("code"), q.Get("iss")), nil
	})}}
}

func newSender(t *testing.T) (*fixture, *sender) {
	s := &sender{address: "https://login.test/?state=", back: make(chan string, 10)}
	return newFixture(t, s.room()), s
}

// leave begins a login whose state is name, and returns where the person is to come back.
func (c *client) leave(s *sender, name string) string {
	c.Helper()
	got := c.do("bridge/login", url.Values{"arg.name": {name}, "back": {"questions"}})
	if got.status != http.StatusOK || !strings.Contains(got.text, `href="https://login.test/?state=`+name+`"`) {
		c.Fatalf("the login begins with %d: %s", got.status, got.text)
	}
	back := <-s.back
	if back != c.server.URL+"/callback" {
		c.Errorf("the person is to come back to %s", back)
	}
	return back
}

// comeBack returns from the other site, and returns the page after it.
func (c *client) comeBack(back string) answer {
	c.Helper()
	got := c.send("GET", back, nil)
	enter := regexp.MustCompile(`content="0; url=([^"]+)"`).FindStringSubmatch(got.text)
	if enter == nil {
		return got
	}
	return c.send("GET", c.server.URL+enter[1], nil)
}

// TestVisit goes to another site and back, in two windows at the same time.
func TestVisit(t *testing.T) {
	f, s := newSender(t)
	c := f.openLink()
	one := c.leave(s, "one")
	two := c.leave(s, "two")
	for name, back := range map[string]string{"two": two, "one": one} {
		got := c.comeBack(back + "?state=" + name + "&code=c" + name + "&iss=i")
		if got.status != http.StatusOK || !strings.HasSuffix(got.path, "/questions") || !strings.Contains(got.text, "ann came back with the code c"+name+" of i") {
			t.Errorf("%s: %d at %s: %s", name, got.status, got.path, got.text)
		}
	}
	if got := strings.Join(f.done(), ", "); got != "ann: bridge login, ann: bridge login" {
		t.Errorf("recorded is %q", got)
	}
}

// TestVisitAttacks: a return counts once, in the browser and the session that has begun it.
func TestVisitAttacks(t *testing.T) {
	for name, test := range map[string]func(f *fixture, c *client, back string) answer{
		"another state": func(_ *fixture, c *client, back string) answer { return c.comeBack(back + "?state=guessed&code=c") },
		"no state":      func(_ *fixture, c *client, back string) answer { return c.comeBack(back + "?code=c") },
		"replayed": func(_ *fixture, c *client, back string) answer {
			c.comeBack(back + "?state=one&code=c")
			return c.comeBack(back + "?state=one&code=other")
		},
		"another session": func(f *fixture, _ *client, back string) answer {
			return f.logIn(good).comeBack(back + "?state=one&code=c")
		},
		"cookie of another login": func(f *fixture, c *client, back string) answer {
			at, _ := url.Parse(back)
			cookies := c.http.Jar.Cookies(at)
			other := f.logIn(good)
			cookies[0].Value = newSecret()
			other.http.Jar.SetCookies(at, cookies)
			return other.comeBack(back + "?state=one&code=c")
		},
		"logged out": func(_ *fixture, c *client, back string) answer {
			c.send("POST", c.base+"/logout", url.Values{"csrf": {c.csrf}})
			return c.comeBack(back + "?state=one&code=c")
		},
		"the token was revoked": func(f *fixture, c *client, back string) answer {
			f.mu.Lock()
			clear(f.person)
			f.mu.Unlock()
			return c.comeBack(back + "?state=one&code=c")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f, s := newSender(t)
			c := f.logIn(good)
			got := test(f, c, c.leave(s, "one"))
			if got.status != http.StatusForbidden || !strings.Contains(got.text, "was not begun in this browser") {
				t.Errorf("%d: %s", got.status, got.text)
			}
			if why := f.refused(); len(why) != 1 || !strings.HasPrefix(why[0], "a return from another site") {
				t.Errorf("recorded is %q", why)
			}
		})
	}
}

// TestForeignReturn: a return that was refused leaves the login as it was.
func TestForeignReturn(t *testing.T) {
	f, s := newSender(t)
	c := f.openLink()
	back := c.leave(s, "one")
	f.newClient().comeBack(back + "?state=one&code=stolen")
	c.comeBack(back + "?state=two&code=c")
	if got := c.comeBack(back + "?state=one&code=mine"); !strings.Contains(got.text, "with the code mine") {
		t.Errorf("%d: %s", got.status, got.text)
	}
}

// TestHostileReturn: the provider's texts are shown as text, and its addresses lead to web pages only.
func TestHostileReturn(t *testing.T) {
	f, s := newSender(t)
	c := f.openLink()
	for i, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, "\u202egnp.exe", "\x1b]0;owned\a", strings.Repeat("long ", 20_000),
	} {
		name := "state" + string(rune('a'+i))
		got := c.comeBack(c.leave(s, name) + "?" + url.Values{"state": {name}, "error": {"x"}, "error_description": {text}}.Encode())
		if got.status != http.StatusOK || !strings.Contains(got.text, "the login was refused") {
			t.Errorf("%.40q: %d: %.2000s", text, got.status, got.text)
		}
		for _, raw := range []string{"<script>alert", "<img src=x", "\u202e", "\x1b"} {
			if strings.Contains(got.text, raw) {
				t.Errorf("the page has %q", raw)
			}
		}
	}
	if got := c.do("bridge/login", url.Values{"arg.name": {"panic"}}); got.status != http.StatusInternalServerError {
		t.Errorf("a verb that panics: %d: %s", got.status, got.text)
	}
	for _, address := range []string{"javascript:alert(1)//?state=", "file:///etc/passwd?state=", "//x/?state=", "https://login.test/?nothing="} {
		s.address = address
		got := c.do("bridge/login", url.Values{"arg.name": {"x"}})
		if <-s.back; got.status < 400 || strings.Contains(got.text, `id="leave"`) {
			t.Errorf("%s: %d: %s", address, got.status, got.text)
		}
	}
	s.address = "https://google.test@\u0440\u0430y.test/?state="
	got := c.do("bridge/login", url.Values{"arg.name": {"x"}})
	if <-s.back; !strings.Contains(got.text, "<code>xn--y-7sb1c.test</code>") {
		t.Errorf("a look-alike host is shown as %s", got.text)
	}
}

// TestManyVisits: a session has four logins at the same time, and a console that ends has none.
func TestManyVisits(t *testing.T) {
	f, s := newSender(t)
	c := f.openLink()
	back := c.leave(s, "a")
	f.console.visits.mu.Lock()
	first := f.console.visits.waiting[digestOf("a")]
	f.console.visits.mu.Unlock()
	for _, name := range []string{"b", "c", "d", "e"} {
		c.leave(s, name)
	}
	<-first.done
	if got := c.comeBack(back + "?state=a&code=c"); got.status != http.StatusForbidden {
		t.Errorf("the first has %d: %s", got.status, got.text)
	}
	if got := c.comeBack(back + "?state=e&code=c"); got.status != http.StatusOK {
		t.Errorf("the last has %d: %s", got.status, got.text)
	}
	f.console.Close()
	f.console.visits.mu.Lock()
	defer f.console.visits.mu.Unlock()
	if n := len(f.console.visits.waiting); n != 0 {
		t.Errorf("%d logins wait after the end", n)
	}
}

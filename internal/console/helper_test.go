package console

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/pauses"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A fixture is a console with a store, and what it has recorded.
type fixture struct {
	testing.TB
	console *Console
	server  *httptest.Server
	store   *store.Store
	asks    *approvals.Store
	dir     string

	mu       sync.Mutex
	verbs    []room.Called
	recorded []audit.Record
	person   map[string]room.Person // by token
}

const good = "a-token-that-decides"

// TestMain sets a time zone in which it is noon, so that no test runs across midnight.
func TestMain(m *testing.M) {
	now := time.Now().UTC()
	time.Local = time.FixedZone("noon", (12-now.Hour())*3600)
	os.Exit(m.Run())
}

func newFixture(t testing.TB, more ...*room.Room) *fixture {
	t.Helper()
	dir := t.TempDir()
	s := storetest.Open(t, dir)
	f := &fixture{
		TB: t, store: s, dir: dir, asks: approvals.New(approvals.Options{DB: s}),
		person: map[string]room.Person{good: {Name: "token:ann", Channel: "console"}},
	}
	t.Cleanup(func() {
		if err := f.asks.Close(); err != nil {
			t.Error(err)
		}
	})
	log := slog.New(slog.DiscardHandler)
	past := func(context.Context, approvals.Call) (int, int, error) { return 3, 7, nil }
	ended := func(context.Context, *room.Host) (map[string]bool, error) { return nil, nil }
	f.console = New(Options{
		API: room.API{
			Rooms: append([]*room.Room{approvals.Room(past, ended), pauses.Room(), audit.Room(nil)}, more...),
			Host:  &room.Host{Store: s, Log: log, Data: func() (string, error) { return dir, nil }},
			Record: func(_ context.Context, c room.Called) error {
				f.mu.Lock()
				defer f.mu.Unlock()
				f.verbs = append(f.verbs, c)
				return nil
			},
			Scrub: func(text string) string { return text },
		},
		Record: func(_ context.Context, r audit.Record) error {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.recorded = append(f.recorded, r)
			return nil
		},
		Identify: func(_ context.Context, token string) (room.Person, error) {
			f.mu.Lock()
			defer f.mu.Unlock()
			who, ok := f.person[token]
			if !ok {
				return who, errors.New("the token is not valid")
			}
			return who, nil
		},
		Scrub: func(text string) string { return text }, Log: log,
	})
	f.server = httptest.NewServer(f.console.Handler())
	t.Cleanup(func() { f.console.Close(); f.server.Close() })
	f.console.Hosts = []string{strings.TrimPrefix(f.server.URL, "http://")}
	return f
}

// ask adds a call that waits for an approval.
func (f *fixture) ask(c approvals.Call) (id string) {
	f.Helper()
	if c.Args == nil {
		c.Args = json.RawMessage(c.Shown)
	}
	if c.Digest == "" {
		c.Digest = "0123456789abcdef"
	}
	id, err := f.asks.Ask(f.Context(), c, time.Now().Add(time.Hour))
	if err != nil {
		f.Fatal(err)
	}
	return id
}

func someCall() approvals.Call {
	return approvals.Call{
		Call: "call-1", Tool: "exec", Title: "Run a command", Risk: "destroys", Why: "it removes files", Agent: "builder",
		User: "ann", Principal: "builder/ann", Session: "stdio-1", Profile: "coding", Workspace: "/src/shop",
		Shown: `{"command":"rm notes.txt"}`,
	}
}

// A client is a browser without a script.
type client struct {
	*fixture
	http *http.Client
	base string // URL of the session
	csrf string
}

func (f *fixture) newClient() *client {
	f.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		f.Fatal(err)
	}
	return &client{fixture: f, http: &http.Client{Jar: jar, Timeout: hang}}
}

// openLink opens the console with a link, for a person who may do everything.
func (f *fixture) openLink() *client {
	f.Helper()
	c := f.newClient()
	r := c.send("POST", f.server.URL+f.console.Link(room.Person{Name: "ann", Channel: "console"}), nil)
	c.arrived(r)
	return c
}

// logIn opens the console with a token.
func (f *fixture) logIn(token string) *client {
	f.Helper()
	c := f.newClient()
	c.arrived(c.send("POST", f.server.URL+"/login", url.Values{"token": {token}}))
	return c
}

var (
	csrfField = regexp.MustCompile(`name="csrf" value="([a-z0-9]+)"`)
	basePath  = regexp.MustCompile(`^/c/[a-z0-9]+`)
)

func (c *client) arrived(a answer) {
	c.Helper()
	base, csrf := basePath.FindString(a.path), csrfField.FindStringSubmatch(a.text)
	if a.status != http.StatusOK || base == "" || csrf == nil {
		c.Fatalf("the console was not opened: %d at %s: %s", a.status, a.path, a.text)
	}
	c.base, c.csrf = c.server.URL+base, csrf[1]
}

// An answer is what a client got, after all redirects.
type answer struct {
	status int
	path   string
	text   string
	header http.Header
}

func (c *client) send(method, to string, form url.Values, set ...func(*http.Request)) answer {
	c.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r, err := http.NewRequestWithContext(c.Context(), method, to, body)
	if err != nil {
		c.Fatal(err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, f := range set {
		f(r)
	}
	response, err := c.http.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatal(err)
	}
	return answer{response.StatusCode, response.Request.URL.Path, string(text), response.Header}
}

// get loads a page.
func (c *client) get(page string) answer {
	c.Helper()
	return c.send("GET", c.base+"/"+page, nil)
}

// do sends the form of a verb.
func (c *client) do(verb string, form url.Values) answer {
	c.Helper()
	form.Set("csrf", c.csrf)
	return c.send("POST", c.base+"/do/"+verb, form)
}

// refused returns the reasons of the refusals that were recorded.
func (f *fixture) refused() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.recorded {
		if r.Outcome == "refused" {
			list = append(list, r.Error)
		}
	}
	return list
}

// done returns the verbs that were recorded as done.
func (f *fixture) done() (list []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, v := range f.verbs {
		if v.Done && v.Err == nil {
			list = append(list, v.Who.Name+": "+v.Verb)
		}
	}
	return list
}

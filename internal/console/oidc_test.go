package console

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/mcp-tools/mcp-tools/internal/room"
)

// A provider is the OpenID provider of zitadel/oidc, with people in memory. It writes their roles into ID tokens.
type provider struct {
	*storage.Storage
	mu    sync.Mutex
	roles map[string]any // by subject
}

func (p *provider) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, r op.IDTokenRequest, scopes []string) error {
	err := p.Storage.SetUserinfoFromRequest(ctx, info, r, scopes)
	p.mu.Lock()
	defer p.mu.Unlock()
	if roles := p.roles[r.GetSubject()]; roles != nil {
		info.AppendClaims("roles", roles)
	}
	return err
}

func (p *provider) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := p.Storage.GetClientByClientID(ctx, id)
	return rolesInTokens{c}, err
}

// rolesInTokens is a client with the claims of people in its ID tokens.
type rolesInTokens struct{ op.Client }

func (rolesInTokens) IDTokenUserinfoClaimsAssertion() bool { return true }

// withProvider gives the console a provider on this machine.
func (f *fixture) withProvider() *provider {
	f.Helper()
	before := slog.Default()
	site := httptest.NewUnstartedServer(nil)
	f.server = httptest.NewServer(nil)
	back := f.server.URL + backPath
	p := &provider{roles: map[string]any{}}
	p.Storage = storage.NewStorageWithClients(storage.NewUserStore("http://localhost"),
		map[string]*storage.Client{"console": storage.WebClient("console", "the-"+"secret", back)})
	issuer := "http://" + site.Listener.Addr().String()
	site.Config.Handler = exampleop.SetupServer(issuer, p, slog.New(slog.DiscardHandler), false, op.WithAllowInsecure())
	slog.SetDefault(before)
	site.Start()
	f.console.member = newMember(Provider{
		Issuer: issuer, ClientID: "console", Secret: func() (string, error) { return "the-" + "secret", nil }, Redirect: back,
		Scopes: []string{"profile", "email"}, Claim: "roles", Operators: []string{"admins"}, Approvers: []string{"deciders"},
		Channel: "console",
	})
	f.console.Hosts = []string{strings.TrimPrefix(f.server.URL, "http://")}
	f.server.Config.Handler = f.console.Handler()
	f.Cleanup(func() { f.server.Close(); site.Close() })
	return p
}

// fetch returns an answer of any address.
func (c *client) fetch(r *http.Request) (status int, at *url.URL, text string) {
	c.Helper()
	res, err := c.http.Do(r)
	if err != nil {
		c.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		c.Fatal(err)
	}
	return res.StatusCode, res.Request.URL, string(body)
}

func (c *client) visit(address string) (status int, at *url.URL, text string) {
	c.Helper()
	r, err := http.NewRequestWithContext(c.Context(), http.MethodGet, address, nil)
	if err != nil {
		c.Fatal(err)
	}
	return c.fetch(r)
}

// atProvider goes to the provider and logs in there. It returns where the browser arrives.
func (c *client) atProvider(name, next string) (status int, at *url.URL, text string) {
	c.Helper()
	status, at, text = c.visit(c.server.URL + loginPath + "?next=" + next)
	if status != http.StatusOK || !strings.Contains(at.Path, "/login/username") {
		c.Fatalf("the login leads to %s: %d %s", at, status, text)
	}
	r, err := http.NewRequestWithContext(c.Context(), http.MethodPost, at.String(), strings.NewReader(url.Values{
		"username": {name}, "password": {"verysecure"}, "id": {at.Query().Get("authRequestID")},
	}.Encode()))
	if err != nil {
		c.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return c.fetch(r)
}

// TestLoginAtAProvider logs people with all roles in, at a provider that speaks OpenID Connect.
func TestLoginAtAProvider(t *testing.T) {
	f := newFixture(t)
	p := f.withProvider()
	id := f.ask(someCall())
	for name, test := range map[string]struct {
		roles                  any
		in, operates, mayAllow bool
	}{
		"no roles":          {nil, false, false, false},
		"other roles":       {[]string{"admin", "", "deciders2"}, false, false, false},
		"no list":           {map[string]any{"admins": true}, false, false, false},
		"approver":          {[]string{"x", "deciders"}, true, false, true},
		"operator by text":  {"admins", true, true, true},
		"operator and more": {[]string{"deciders", "admins"}, true, true, true},
	} {
		p.mu.Lock()
		p.roles["id1"] = test.roles
		p.mu.Unlock()
		c := f.newClient()
		status, at, text := c.atProvider("test-user@localhost", "questions/"+id)
		enter := regexp.MustCompile(`content="0; url=([^"]+)"`).FindStringSubmatch(text)
		if !test.in {
			if status != http.StatusForbidden || enter != nil || !strings.Contains(text, "no role") || strings.Contains(text, "rm notes") {
				t.Errorf("%s: %d at %s: %s", name, status, at, text)
			}
			continue
		}
		if status != http.StatusOK || enter == nil || !strings.HasSuffix(enter[1], "/questions/"+id) {
			t.Errorf("%s: %d at %s: %s", name, status, at, text)
			continue
		}
		if status, _, text := c.visit(f.server.URL + enter[1]); status != http.StatusOK || !strings.Contains(text, "rm notes.txt") ||
			!strings.Contains(text, "test-user@localhost (oidc:id1)") {
			t.Errorf("%s: the question got %d: %s", name, status, text)
		}
		base, _, _ := strings.Cut(enter[1], "/questions")
		for _, page := range []string{"calls", "charts", "health"} {
			if status, _, _ := c.visit(f.server.URL + base + "/" + page); (status == http.StatusOK) != test.operates {
				t.Errorf("%s: the page %s got %d", name, page, status)
			}
		}
	}
	if got := strings.Join(f.refused(), "\n"); strings.Count(got, "a login without a role: test-user@localhost (oidc:id1)") != 3 {
		t.Errorf("recorded are %s", got)
	}
}

// TestLoginOfAnotherBrowser has answers of a provider that this browser did not ask for, or that were changed.
func TestLoginOfAnotherBrowser(t *testing.T) {
	for name, test := range map[string]struct {
		change func(m *member, to *url.URL, c *client)
		want   string
	}{
		"another state": {func(_ *member, to *url.URL, _ *client) { set(to, "state", strings.Repeat("a", 26)) }, "not begun in this browser"},
		"no state":      {func(_ *member, to *url.URL, _ *client) { set(to, "state", "") }, "not begun in this browser"},
		"another browser": {func(_ *member, _ *url.URL, c *client) { c.http.Jar = c.newClient().http.Jar },
			"not begun in this browser"},
		"used before": {func(_ *member, to *url.URL, c *client) { c.visit(to.String()) }, "not begun in this browser"},
		"another issuer": {func(_ *member, to *url.URL, _ *client) { set(to, "iss", "https://evil.example") },
			"of another provider"},
		"an error":       {func(_ *member, to *url.URL, _ *client) { set(to, "error", "access_denied") }, "has refused the login"},
		"another code":   {func(_ *member, to *url.URL, _ *client) { set(to, "code", "x") }, "did not work"},
		"another nonce":  {pendingWith(func(l *pendingLogin) { l.nonce = newSecret() }), "did not work"},
		"another secret": {pendingWith(func(l *pendingLogin) { l.verifier = strings.Repeat("v", 50) }), "did not work"},
		"another client": {func(m *member, _ *url.URL, _ *client) { m.ClientID = "other" }, "did not work"},
		"another address": {func(m *member, _ *url.URL, _ *client) { m.Redirect += "/x" },
			"did not work"},
	} {
		f := newFixture(t)
		p := f.withProvider()
		p.roles["id1"] = "admins"
		c := f.newClient()
		var to *url.URL
		c.http.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
			if r.URL.Path == backPath {
				to = r.URL
				return http.ErrUseLastResponse
			}
			return nil
		}
		if c.atProvider("test-user@localhost", ""); to == nil {
			t.Fatalf("%s: the provider leads nowhere", name)
		}
		c.http.CheckRedirect = nil
		test.change(f.console.member, to, c)
		if status, _, text := c.visit(to.String()); status != http.StatusForbidden || !strings.Contains(text, test.want) ||
			strings.Contains(text, "/"+sessionPath+"/") {
			t.Errorf("%s: it got %d: %s", name, status, text)
		}
	}
}

func set(to *url.URL, name, value string) {
	q := to.Query()
	q.Set(name, value)
	to.RawQuery = q.Encode()
}

func pendingWith(change func(*pendingLogin)) func(*member, *url.URL, *client) {
	return func(m *member, _ *url.URL, _ *client) {
		m.mu.Lock()
		defer m.mu.Unlock()
		for key, login := range m.pending {
			change(&login)
			m.pending[key] = login
		}
	}
}

// TestProviderThatDoesNotAnswer has a provider that is down, and then comes up.
func TestProviderThatDoesNotAnswer(t *testing.T) {
	f := newFixture(t)
	f.withProvider()
	issuer := f.console.member.Issuer
	f.console.member.Issuer = f.server.URL
	c := f.newClient()
	if status, _, text := c.visit(f.server.URL + loginPath); status != http.StatusBadGateway || !strings.Contains(text, "does not answer") {
		t.Errorf("it got %d: %s", status, text)
	}
	f.console.member.Issuer = issuer
	if status, _, text := c.visit(f.server.URL); status != http.StatusOK || !strings.Contains(text, "Log in at "+f.console.member.host()) {
		t.Errorf("the first page got %d: %s", status, text)
	}
	c.atProvider("test-user@localhost", "")
}

// TestWhoDecidesOnly has a person who decides about all callers, and operates nothing.
func TestWhoDecidesOnly(t *testing.T) {
	f := newFixture(t)
	f.person["eve"] = room.Person{Name: "eve", Channel: "console", Decides: true}
	c := f.logIn("eve")
	id := f.ask(someCall())
	if got := c.do("pauses/pause", url.Values{}); got.status != http.StatusNotFound {
		t.Errorf("pause got %d", got.status)
	}
	if got := c.do("approvals/deny", url.Values{"arg.id": {id}}); got.status != http.StatusOK {
		t.Errorf("deny got %d: %s", got.status, got.text)
	}
}

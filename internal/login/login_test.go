package login

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestLogin goes the way of a client from its registration to a token that is refreshed and revoked.
func TestLogin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := newWorld(t, db)
		client := w.register(callback)
		page := w.begin(request(client))
		if text := w.get(page).Body.String(); !strings.Contains(text, "Log in with a passkey") || strings.Contains(text, "/src") {
			t.Fatalf("the page before the login: %s", text)
		}
		w.logIn(page)
		text := w.get(page).Body.String()
		for _, want := range []string{"Claude", "Not checked", "claude.ai", "/src", "readonly", "ann"} {
			if !strings.Contains(text, want) {
				t.Errorf("the page of consent lacks %q: %s", want, text)
			}
		}
		if strings.Contains(text, `value="coding"`) {
			t.Error("a profile is offered that the client did not ask for")
		}
		said := w.agree(page, allow())
		if said.Get("state") != "s&1" || said.Get("iss") != origin || said.Get("code") == "" {
			t.Fatalf("the response is %v", said)
		}
		got := w.token(exchange(client, said.Get("code")))
		if got.Status != http.StatusOK || got.Scope != "readonly" || got.Expires != 3600 {
			t.Fatalf("tokens: %+v", got)
		}
		token, err := w.table.Authenticate(t.Context(), got.Access)
		if err != nil {
			t.Fatal(err)
		}
		if token.User != "ann" || token.Name != "Claude" || token.Workspace != "/src" ||
			cmp.Diff(token.Profiles, []string{"readonly"}) != "" || token.Expires.IsZero() {
			t.Errorf("the token is %+v", token)
		}
		next := w.refresh(client, got.Refresh)
		again, err := w.table.Authenticate(t.Context(), next.Access)
		if err != nil || again.ID != token.ID || next.Refresh == got.Refresh {
			t.Fatalf("the refreshed token is %+v, %v", again, err)
		}
		if !w.valid(got.Access) {
			t.Error("the former access token ended with the refresh")
		}
		w.post(revokePath, url.Values{"token": {next.Access}, "client_id": {client}})
		if w.valid(got.Access) || w.valid(next.Access) || w.refresh(client, next.Refresh).Error != "invalid_grant" {
			t.Error("tokens count after the revocation")
		}
		if got := w.recorded("token"); cmp.Diff(got, []string{"ok", "ok", "refused"}) != "" {
			t.Errorf("recorded: %v", got)
		}
	})
}

// TestReplicas begins a login on one server, logs in on another, and gets the tokens from a third, each with
// nothing but the store.
func TestReplicas(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := newWorld(t, db)
		one, two, three := w.Server, w.replica(db, w.Web), w.replica(db, w.Web)
		client := w.register(callback)
		page := w.begin(request(client))
		w.Server = two
		w.logIn(page)
		w.Server = three
		code := w.agree(page, allow()).Get("code")
		got := w.tokenAt(one, exchange(client, code))
		if got.Access == "" || !w.valid(got.Access) {
			t.Fatalf("tokens: %+v", got)
		}
		if again := w.tokenAt(two, exchange(client, code)); again.Error != "invalid_grant" || w.valid(got.Access) {
			t.Errorf("the code was used again on another server: %+v", again)
		}
	})
}

// TestLostResponse uses a refresh token again because the response was lost: it returns the same successor.
func TestLostResponse(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	client := w.register(callback)
	first := w.token(exchange(client, w.logInAll(client)))
	one, two := w.refresh(client, first.Refresh), w.refresh(client, first.Refresh)
	if one.Refresh != two.Refresh || !w.valid(two.Access) {
		t.Errorf("the second refresh: %+v, want the refresh token of %+v", two, one)
	}
	if next := w.refresh(client, two.Refresh); next.Access == "" {
		t.Errorf("the successor: %+v", next)
	}
}

// TestUserChanges narrows, resets and removes a user whose login lasts.
func TestUserChanges(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	client := w.register(callback)
	q := request(client)
	q.Del("scope")
	page := w.begin(q)
	w.logIn(page)
	code := w.agree(page, url.Values{"decision": {"allow"}, "profile": {"*"}, "lasts": {"1"}}).Get("code")
	first := w.token(exchange(client, code))
	if first.Scope != "coding readonly" {
		t.Fatalf("tokens: %+v", first)
	}
	w.change(`UPDATE account SET profiles = '["readonly", "full"]'`)
	second := w.refresh(client, first.Refresh)
	token, err := w.table.Authenticate(t.Context(), second.Access)
	if err != nil || second.Scope != "readonly" || cmp.Diff(token.Profiles, []string{"readonly"}) != "" {
		t.Errorf("after the change: %+v, %+v, %v", second, token, err)
	}
	if _, ended, err := w.Users.Reset(t.Context(), "ann"); err != nil || ended != 1 || w.valid(second.Access) {
		t.Errorf("the reset ended %d, %v", ended, err)
	}
	if got := w.refresh(client, second.Refresh); got.Error != "invalid_grant" {
		t.Errorf("after the reset: %+v", got)
	}
}

// TestDocument logs in with a client that publishes its document.
func TestDocument(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	q := request(documentURL)
	q.Set("redirect_uri", "http://127.0.0.1:5123/callback") // any port
	page := w.begin(q)
	w.logIn(page)
	text := w.get(page).Body.String()
	for _, want := range []string{"Editor", "Checked:", "editor.example.org", "this computer"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of consent lacks %q: %s", want, text)
		}
	}
	form := exchange(documentURL, w.agree(page, allow()).Get("code"))
	form.Set("redirect_uri", "http://127.0.0.1:5123/callback")
	if got := w.token(form); got.Access == "" {
		t.Errorf("tokens: %+v", got)
	}
}

func TestDeny(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	page := w.begin(request(w.register(callback)))
	w.logIn(page)
	said := w.agree(page, url.Values{"decision": {"deny"}})
	if said.Get("error") != "access_denied" || said.Get("iss") != origin || said.Get("code") != "" || w.issued() != 0 {
		t.Errorf("the response is %v", said)
	}
}

func TestOrigin(t *testing.T) {
	for endpoint, want := range map[string]string{
		"https://Tools.example.com/mcp": "https://tools.example.com", "https://h:8443/mcp": "https://h:8443",
		"http://h/mcp": "", "https://h/x/mcp": "", "https://h/": "", "": "", "https://a@h/mcp": "",
	} {
		if got := Origin(endpoint); got != want {
			t.Errorf("Origin(%q) = %q", endpoint, got)
		}
	}
}

func TestAddress(t *testing.T) {
	for _, c := range []struct{ remote, forwarded, want string }{
		{"203.0.113.9:1", "", "203.0.113.9"},
		{"203.0.113.9:1", "198.51.100.1", "203.0.113.9"}, // anyone can send the header
		{"127.0.0.1:1", "1.1.1.1, 198.51.100.1", "198.51.100.1"},
		{"10.0.0.3:1", "", "10.0.0.3"},
		{"127.0.0.1:1", "nonsense", "127.0.0.1"},
		{"[2001:db8::1:2]:1", "", "2001:db8::/64"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := address(r); got != c.want {
			t.Errorf("address of %s for %q: %s", c.remote, c.forwarded, got)
		}
	}
}

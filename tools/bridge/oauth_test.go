package bridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// memoryVault is a vault of a test.
type memoryVault struct {
	mu     sync.Mutex
	values map[string][]byte
}

func (v *memoryVault) Get(name string) ([]byte, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if value, ok := v.values[name]; ok {
		return value, nil
	}
	return nil, errors.New("there is no such secret")
}

func (v *memoryVault) Set(_ context.Context, name string, value []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[name] = value
	return nil
}

func (v *memoryVault) Remove(_ context.Context, name string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.values, name)
	return nil
}

// A visitor is a person's browser, which comes back with an answer to the query of an address.
type visitor func(url.Values) url.Values

func (visitor) Return() (string, error) { return "http://127.0.0.1:1" + room.ReturnPath, nil }

func (v visitor) Visit(_ context.Context, address string) (url.Values, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	return v(at.Query()), nil
}

// A guarded is an MCP server that wants a token, with the authorization server that issues it.
type guarded struct {
	*httptest.Server
	issued    atomic.Int64
	expiresIn atomic.Int64
	valid     atomic.Pointer[string]
	issuer    atomic.Pointer[string]
	problem   atomic.Pointer[string]
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{}
	mux := http.NewServeMux()
	write := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("GET /.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{*g.issuer.Load()}})
	})
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"registration_endpoint": g.URL + "/register", "code_challenge_methods_supported": []string{"S256"},
			"response_types_supported": []string{"code"}, "authorization_response_iss_parameter_supported": true,
		})
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var asked map[string]any
		_ = json.NewDecoder(r.Body).Decode(&asked)
		asked["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(asked)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		if r.Form.Get("grant_type") == "authorization_code" && (r.Form.Get("code_verifier") == "" ||
			r.Form.Get("resource") != g.URL+"/mcp") {
			said := "no verifier or no resource: " + r.Form.Encode()
			g.problem.Store(&said)
		}
		if id, secret, _ := r.BasicAuth(); r.Form.Get("grant_type") == "client_credentials" && (id != "machine" || secret != "key" ||
			r.Form.Get("resource") != g.URL+"/mcp") {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		token := fmt.Sprintf("token-%d", g.issued.Add(1))
		g.valid.Store(&token)
		write(w, map[string]any{
			"access_token": token, "token_type": "Bearer", "refresh_token": "refresh-1",
			"expires_in": g.expiresIn.Load(),
		})
	})
	mux.HandleFunc("POST /mcp", func(w http.ResponseWriter, r *http.Request) {
		if token := g.valid.Load(); token == nil || r.Header.Get("Authorization") != "Bearer "+*token {
			w.Header().Set("WWW-Authenticate",
				`Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
		}
		_ = json.NewDecoder(r.Body).Decode(&m)
		result := `{"content":[{"type":"text","text":"done"}]}`
		switch m.Method {
		case "server/discover":
			w.WriteHeader(http.StatusBadRequest)
			return
		case "initialize":
			result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"g","version":"1"}}`
		case "tools/list":
			result = `{"tools":[` + plain + `]}`
		case "notifications/initialized":
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	g.expiresIn.Store(3600)
	g.issuer.Store(&g.URL)
	return g
}

// web returns the Web of Options that reaches g.
func (g *guarded) web(t *testing.T) func(Server) (Web, error) {
	return func(Server) (Web, error) { return egresstest.Local(t, g.URL), nil }
}

// TestLogin: discovery, registration, PKCE, a browser that comes back, renewal, and a token that is refused.
func TestLogin(t *testing.T) {
	g := newGuarded(t)
	vault := &memoryVault{values: make(map[string][]byte)}
	var masked sync.Map
	b := newBridge(t, storetest.Open(t, t.TempDir()), nil, func(o *Options) {
		o.Settings["hub"] = Server{URL: g.URL + "/mcp"}
		o.Vault = vault
		o.Transport = func(Server) (http.RoundTripper, error) { return http.DefaultTransport, nil }
		o.Web = g.web(t)
		o.Mask = func(name string, values ...string) { masked.Store(name, values) }
	})
	if _, err := b.Refresh(t.Context(), "hub"); err == nil || !strings.Contains(err.Error(), "bridge login hub") {
		t.Fatalf("without a login: %v", err)
	}
	listed := func(state, way string) {
		t.Helper()
		r, err := listServers(t.Context(), b.Bridge, struct{}{})
		if table, _ := r.Data.(room.Table); err != nil || table.Rows[1][1] != state || strings.Contains(r.Text(), "mcp-tools bridge login hub") != (way != "") {
			t.Errorf("the list is %v, %q, %v", r.Data, r.Text(), err)
		}
		if r, err := show(t.Context(), b.Bridge, nameArgs{"hub"}); err != nil || strings.Contains(r.Text(), "bridge login hub") != (way != "") {
			t.Errorf("the server is %q, %v", r.Text(), err)
		}
	}
	listed("wants a login", "bridge login")
	agree := func(change func(url.Values)) room.Browser {
		return visitor(func(q url.Values) url.Values {
			if q.Get("code_challenge_method") != "S256" || q.Get("client_id") != "client-1" || q.Get("resource") == "" ||
				q.Get("redirect_uri") != "http://127.0.0.1:1/callback" {
				t.Errorf("the browser is sent to %s", q.Encode())
			}
			back := url.Values{"code": {"c"}, "state": {q.Get("state")}, "iss": {g.URL}}
			change(back)
			return back
		})
	}
	for name, change := range map[string]func(url.Values){
		"another state":  func(q url.Values) { q.Set("state", "x") },
		"another issuer": func(q url.Values) { q.Set("iss", "http://evil.test") },
		"a refusal":      func(q url.Values) { q.Set("error", "access_denied") },
	} {
		if err := b.Login(t.Context(), "hub", agree(change)); tool.AsError(err).Kind != tool.Refused {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.Login(t.Context(), "hub", agree(func(url.Values) {})); err != nil {
		t.Fatal(err)
	}
	if p := g.problem.Load(); p != nil {
		t.Error(*p)
	}
	call := func() error {
		_, err := b.run(t.Context(), ann(), "hub__read", `{}`)
		return err
	}
	if _, err := b.Refresh(t.Context(), "hub"); err != nil {
		t.Fatal(err)
	}
	if err := call(); err != nil {
		t.Errorf("with a login: %v", err)
	}
	listed("ready", "")
	if values, ok := masked.Load("mcp_login.hub"); !ok || !strings.Contains(fmt.Sprint(values), "token-1") {
		t.Errorf("masked is %v", values)
	}
	// A token that has expired is renewed.
	l, ok := b.readLogin("hub", b.o.Settings["hub"])
	if !ok {
		t.Fatal("the login was not kept")
	}
	l.Token.Expiry = l.Token.Expiry.AddDate(-1, 0, 0)
	if err := b.keepLogin(t.Context(), "hub", l); err != nil {
		t.Fatal(err)
	}
	b.pool.forget("hub")
	if err := call(); err != nil || g.issued.Load() != 2 {
		t.Errorf("after it has expired: %v, %d tokens", err, g.issued.Load())
	}
	// Tokens are for one URL.
	if _, ok := b.readLogin("hub", Server{URL: "https://evil.test/mcp"}); ok {
		t.Error("another URL gets the tokens")
	}
	// A token that was taken back, by an issuer that has changed, is dropped.
	none, other := "none", "http://127.0.0.1:1"
	g.valid.Store(&none)
	g.issuer.Store(&other)
	if err := call(); err == nil || !strings.Contains(err.Error(), "bridge login hub") {
		t.Errorf("a token that was taken back: %v", err)
	}
	b.pool.forget("hub")
	if _, err := b.Refresh(t.Context(), "hub"); err == nil {
		t.Error("the server answers without a token")
	}
	listed("wants a login", "bridge login")
	if _, err := vault.Get("mcp-login-hub"); err == nil {
		t.Error("the tokens of the former issuer are kept")
	}
}

// TestLoginMachine gets tokens with an id and a secret, and new ones when they have expired or are refused.
func TestLoginMachine(t *testing.T) {
	g := newGuarded(t)
	var masked sync.Map
	b := newBridge(t, storetest.Open(t, t.TempDir()), nil, func(o *Options) {
		o.Settings["hub"] = Server{URL: g.URL + "/mcp"}
		o.Vault = &memoryVault{values: make(map[string][]byte)}
		o.Transport = func(Server) (http.RoundTripper, error) { return http.DefaultTransport, nil }
		o.Web = g.web(t)
		o.Mask = func(name string, values ...string) { masked.Store(name, values) }
	})
	err := b.LoginMachine(t.Context(), "hub", "machine", "wrong")
	if tool.AsError(err).Kind != tool.Refused || strings.Contains(err.Error(), "wrong") {
		t.Errorf("a wrong secret: %v", err)
	}
	if err := b.LoginMachine(t.Context(), "hub", "machine", "key"); err != nil {
		t.Fatal(err)
	}
	if values, ok := masked.Load("mcp_login.hub"); !ok || !strings.Contains(fmt.Sprint(values), "key") {
		t.Errorf("masked is %v", values)
	}
	if _, err := b.Refresh(t.Context(), "hub"); err != nil {
		t.Fatal(err)
	}
	call := func() error {
		_, err := b.run(t.Context(), ann(), "hub__read", `{}`)
		return err
	}
	if err := call(); err != nil || g.issued.Load() != 1 {
		t.Errorf("%v, %d tokens", err, g.issued.Load())
	}
	l, _ := b.readLogin("hub", b.o.Settings["hub"])
	l.Token.Expiry = l.Token.Expiry.AddDate(-1, 0, 0)
	if err := b.keepLogin(t.Context(), "hub", l); err != nil {
		t.Fatal(err)
	}
	b.pool.forget("hub")
	if err := call(); err != nil || g.issued.Load() != 2 {
		t.Errorf("after it has expired: %v, %d tokens", err, g.issued.Load())
	}
	none := "none"
	g.valid.Store(&none)
	if err := call(); err == nil {
		t.Error("a token that was taken back counts")
	}
	if err := call(); err != nil || g.issued.Load() != 3 {
		t.Errorf("after a refusal: %v, %d tokens", err, g.issued.Load())
	}
}

// TestDocument: the document about this client is for servers with a public address only.
func TestDocument(t *testing.T) {
	if Document("", "") != nil || Document("http://x/mcp", "") != nil {
		t.Error("a server without a public address has a document")
	}
	if got := string(Document("https://tools.test/mcp", "https://console.test/")); !strings.Contains(got,
		`"client_id":"https://tools.test/.well-known/mcp-tools-client.json"`) ||
		!strings.Contains(got, `["http://127.0.0.1/callback","https://console.test/callback"]`) {
		t.Errorf("the document is %s", got)
	}
}

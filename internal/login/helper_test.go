package login

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
	"github.com/mcp-tools/mcp-tools/internal/users"
)

const (
	endpoint = "https://tools.example.com/mcp"
	origin   = "https://tools.example.com"
	callback = "https://claude.ai/api/mcp/auth_callback"
	verifier = "a-verifier-that-is-long-enough-for-RFC-7636-0123"
	password = "correct horse battery"
)

// A world is a server with one user, ann, and what it has recorded.
type world struct {
	testing.TB
	*Server
	db      *store.Store
	table   *tokens.Table
	secret  string // of ann's codes
	step    int    // of her next code, in periods from now
	browser map[string]string
	from    string // address of requests

	mu      sync.Mutex
	records []audit.Record
}

// A plainSealer marks what it seals, and does not encrypt.
type plainSealer struct{}

func (plainSealer) Seal(_ context.Context, about string, plain []byte) (string, error) {
	return about + "|" + base64.StdEncoding.EncodeToString(plain), nil
}

func (plainSealer) Open(_ context.Context, about, sealed string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.TrimPrefix(sealed, about+"|"))
}

// document is the text of the document of a client, and address its URL.
const (
	documentURL  = "https://editor.example.org/mcp-client.json"
	documentText = `{"client_id": "` + documentURL + `", "client_name": "Editor", "redirect_uris": ["http://127.0.0.1/callback"]}`
)

func newWorld(t testing.TB, db *store.Store) *world {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/mcp-client.json":
			_, _ = w.Write([]byte(documentText))
		case "/other.json":
			_, _ = w.Write([]byte(documentText))
		case "/secret.json":
			_, _ = w.Write([]byte(`{"client_id": "https://editor.example.org/secret.json", "redirect_uris": ["https://a.example/"],
				"token_endpoint_auth_method": "private_key_jwt"}`))
		case "/moved.json":
			http.Redirect(w, r, "/mcp-client.json", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	w := &world{TB: t, db: db, table: tokens.New(tokens.Options{DB: db}), browser: map[string]string{}, from: "203.0.113.9:1234"}
	w.Server = w.replica(db, egresstest.Client(t, map[string]*httptest.Server{"editor.example.org": site}))
	link, err := w.Users.Add(t.Context(), users.User{Name: "ann", Profiles: []string{"coding", "readonly"}, Workspace: "/src"})
	if err != nil {
		t.Fatal(err)
	}
	w.secret = w.setPassword(link)
	return w
}

// replica returns another server on a store.
func (w *world) replica(db *store.Store, web outbound.Client) *Server {
	return New(Options{
		DB: db, Endpoint: endpoint, Web: web, Workspace: "/srv",
		Users:    users.New(users.Options{DB: db, Seal: plainSealer{}, Origin: func() string { return origin }}),
		Profiles: func() []string { return []string{"coding", "full", "lean", "readonly"} },
		Record: func(_ context.Context, r audit.Record) error {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.records = append(w.records, r)
			return nil
		},
		Scrub: func(s string) string { return s }, Log: slog.New(slog.DiscardHandler),
	})
}

// setPassword uses a one-time link as a browser does, and returns the secret of codes.
func (w *world) setPassword(link string) (secret string) {
	w.Helper()
	path := strings.TrimPrefix(link, origin)
	page := w.post(path+"/code", url.Values{}).Body.String()
	found := regexp.MustCompile(`<p class="what">([A-Z2-7]+)</p>`).FindStringSubmatch(page)
	if found == nil {
		w.Fatalf("no secret in %s", page)
	}
	secret = found[1]
	if got := w.post(path+"/password", url.Values{"password": {password}, "code": {w.code(secret, -1)}}); got.Code != http.StatusOK {
		w.Fatalf("setting the password: %d %s", got.Code, got.Body)
	}
	w.step = 0
	return secret
}

// code returns a code of a period that is some periods from now.
func (w *world) code(secret string, periods int) string {
	var ms int64
	if err := w.db.Row(w.Context(), "SELECT {{now}}", nil, &ms); err != nil {
		w.Fatal(err)
	}
	code, err := totp.GenerateCode(secret, store.FromMillis(ms).Add(time.Duration(periods)*30*time.Second))
	if err != nil {
		w.Fatal(err)
	}
	return code
}

// do sends a request with the cookies of the browser, and keeps those of the answer.
func (w *world) do(r *http.Request) *httptest.ResponseRecorder {
	return w.doAt(w.Server, r)
}

func (w *world) doAt(s *Server, r *http.Request) *httptest.ResponseRecorder {
	r.Host, r.RemoteAddr = "tools.example.com", w.from
	for name, value := range w.browser {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	rec := httptest.NewRecorder()
	s.ServeHTTP(rec, r)
	for _, c := range rec.Result().Cookies() {
		w.browser[c.Name] = c.Value
	}
	return rec
}

func (w *world) get(path string) *httptest.ResponseRecorder {
	return w.do(httptest.NewRequestWithContext(w.Context(), http.MethodGet, path, nil))
}

func (w *world) post(path string, form url.Values) *httptest.ResponseRecorder {
	return w.do(w.form(path, form))
}

func (w *world) form(path string, form url.Values) *http.Request {
	r := httptest.NewRequestWithContext(w.Context(), http.MethodPost, path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// register registers a client, and returns its id.
func (w *world) register(redirects ...string) string {
	w.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "Claude", "redirect_uris": redirects})
	if err != nil {
		w.Fatal(err)
	}
	rec := w.do(httptest.NewRequestWithContext(w.Context(), http.MethodPost, registerPath, strings.NewReader(string(body))))
	var got struct {
		ID string `json:"client_id"`
	}
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil || rec.Code != http.StatusCreated {
		w.Fatalf("registering: %d %s", rec.Code, rec.Body)
	}
	return got.ID
}

// request returns the parameters of a good request for authorization.
func request(client string) url.Values {
	sum := sha256.Sum256([]byte(verifier))
	return url.Values{
		"client_id": {client}, "redirect_uri": {callback}, "response_type": {"code"}, "state": {"s&1"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
		"resource": {endpoint}, "scope": {"readonly"},
	}
}

// begin begins a login, and returns the path of its page.
func (w *world) begin(q url.Values) string {
	w.Helper()
	rec := w.get(authorizePath + "?" + q.Encode())
	to := rec.Header().Get("Location")
	if rec.Code != http.StatusFound || !strings.HasPrefix(to, pagePath) {
		w.Fatalf("beginning: %d %s %s", rec.Code, to, rec.Body)
	}
	return to
}

// logIn logs ann in.
func (w *world) logIn(page string) {
	w.Helper()
	rec := w.post(page+"/password", url.Values{"name": {"ann"}, "password": {password}, "code": {w.code(w.secret, w.step)}})
	if rec.Code != http.StatusSeeOther {
		w.Fatalf("logging in: %d %s", rec.Code, rec.Body)
	}
	w.step++
}

// agree agrees, and returns the response to the client.
func (w *world) agree(page string, form url.Values) url.Values {
	w.Helper()
	rec := w.post(page+"/consent", form)
	found := regexp.MustCompile(`<a class="button" href="([^"]*)"`).FindStringSubmatch(rec.Body.String())
	if rec.Code != http.StatusOK || found == nil {
		w.Fatalf("agreeing: %d %s", rec.Code, rec.Body)
	}
	to, err := url.Parse(html.UnescapeString(found[1]))
	if err != nil || rec.Header().Get("Refresh") != "0; url="+to.String() {
		w.Fatalf("the page leads to %s, and the header to %s: %v", found[1], rec.Header().Get("Refresh"), err)
	}
	return to.Query()
}

func allow() url.Values {
	return url.Values{"decision": {"allow"}, "profile": {"readonly"}, "lasts": {"30"}}
}

// logInAll goes the whole way to a code.
func (w *world) logInAll(client string) (code string) {
	w.Helper()
	page := w.begin(request(client))
	w.logIn(page)
	return w.agree(page, allow()).Get("code")
}

// exchange returns the parameters of a good request for tokens.
func exchange(client, code string) url.Values {
	return url.Values{
		"grant_type": {"authorization_code"}, "client_id": {client}, "code": {code}, "redirect_uri": {callback},
		"code_verifier": {verifier}, "resource": {endpoint},
	}
}

// granted are tokens.
type granted struct {
	Status  int
	Access  string `json:"access_token"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
	Expires int    `json:"expires_in"`
	Error   string `json:"error"`
	Why     string `json:"error_description"`
}

func (w *world) token(form url.Values) granted { return w.tokenAt(w.Server, form) }

func (w *world) tokenAt(s *Server, form url.Values) (g granted) {
	w.Helper()
	rec := w.doAt(s, w.form(tokenPath, form))
	if err := json.Unmarshal(rec.Body.Bytes(), &g); err != nil {
		w.Fatalf("tokens: %d %s", rec.Code, rec.Body)
	}
	g.Status = rec.Code
	return g
}

func (w *world) refresh(client, refresh string) granted {
	return w.token(url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {refresh}})
}

// valid reports whether a token counts.
func (w *world) valid(token string) bool {
	_, err := w.table.Authenticate(w.Context(), token)
	return err == nil
}

// issued returns the number of tokens that count.
func (w *world) issued() (n int) {
	if err := w.db.Row(w.Context(), "SELECT count(*) FROM token WHERE revoked = 0", nil, &n); err != nil {
		w.Fatal(err)
	}
	return n
}

// change changes rows, such as times.
func (w *world) change(statement string, args ...any) {
	w.Helper()
	err := w.db.Update(w.Context(), func(t *store.Tx) error {
		_, err := t.Exec(statement, args...)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
}

// recorded returns the outcomes of a verb.
func (w *world) recorded(verb string) (outcomes []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.records {
		if r.Tool == "login "+verb {
			outcomes = append(outcomes, r.Outcome)
		}
	}
	return outcomes
}

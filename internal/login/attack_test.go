package login

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A change is one of a good request.
type change func(url.Values)

func set(name, value string) change { return func(q url.Values) { q.Set(name, value) } }
func del(name string) change        { return func(q url.Values) { q.Del(name) } }
func add(name, value string) change { return func(q url.Values) { q.Add(name, value) } }

// TestAttacks sends requests that must be refused. After each one no token was issued, the refusal is in the
// audit log, and nothing went to a redirect URI that was not registered.
func TestAttacks(t *testing.T) {
	type attack struct {
		name string
		// want is the error of the protocol, or a part of the page that a person sees.
		want string
		// do attacks, and returns the answer. It gets a client that is registered.
		do func(w *world, client string) *httptest.ResponseRecorder
	}
	authorize := func(changes ...change) func(*world, string) *httptest.ResponseRecorder {
		return func(w *world, client string) *httptest.ResponseRecorder {
			q := request(client)
			for _, c := range changes {
				c(q)
			}
			return w.get(authorizePath + "?" + q.Encode())
		}
	}
	token := func(changes ...change) func(*world, string) *httptest.ResponseRecorder {
		return func(w *world, client string) *httptest.ResponseRecorder {
			form := exchange(client, w.logInAll(client))
			for _, c := range changes {
				c(form)
			}
			return w.post(tokenPath, form)
		}
	}
	refresh := func(changes ...change) func(*world, string) *httptest.ResponseRecorder {
		return func(w *world, client string) *httptest.ResponseRecorder {
			form := url.Values{"grant_type": {"refresh_token"}, "client_id": {client},
				"refresh_token": {w.token(exchange(client, w.logInAll(client))).Refresh}}
			for _, c := range changes {
				c(form)
			}
			rec := w.post(tokenPath, form)
			w.change("UPDATE token SET revoked = 1") // the first token was right
			return rec
		}
	}
	registration := func(body string) func(*world, string) *httptest.ResponseRecorder {
		return func(w *world, _ string) *httptest.ResponseRecorder {
			return w.do(httptest.NewRequestWithContext(t.Context(), http.MethodPost, registerPath, strings.NewReader(body)))
		}
	}
	redirects := func(uri string) func(*world, string) *httptest.ResponseRecorder {
		return registration(`{"redirect_uris": ["` + uri + `"]}`)
	}
	page := func(do func(w *world, page string) *httptest.ResponseRecorder) func(*world, string) *httptest.ResponseRecorder {
		return func(w *world, client string) *httptest.ResponseRecorder { return do(w, w.begin(request(client))) }
	}
	const other = "https://evil.example/callback"
	attacks := []attack{
		// The request for authorization, with errors that must not go to the redirect URI.
		{"unknown client", "invalid_client", authorize(set("client_id", "mcp-unknown"))},
		{"no client", "invalid_client", authorize(del("client_id"))},
		{"redirect URI of another", "invalid_request", authorize(set("redirect_uri", other))},
		{"redirect URI with a longer path", "invalid_request", authorize(set("redirect_uri", callback+"/../evil"))},
		{"redirect URI with a query", "invalid_request", authorize(set("redirect_uri", callback+"?to=evil"))},
		{"redirect URI with a user", "invalid_request", authorize(set("redirect_uri", "https://claude.ai@evil.example/api/mcp/auth_callback"))},
		{"redirect URI on a host that begins alike", "invalid_request",
			authorize(set("redirect_uri", "https://claude.ai.evil.example/api/mcp/auth_callback"))},
		{"redirect URI over http", "invalid_request", authorize(set("redirect_uri", "http://claude.ai/api/mcp/auth_callback"))},
		{"no redirect URI", "invalid_request", authorize(del("redirect_uri"))},
		{"two redirect URIs", "cannot be read", authorize(add("redirect_uri", other))},
		{"two clients", "cannot be read", authorize(add("client_id", "mcp-other"))},
		{"document that names another client", "invalid_client", authorize(set("client_id", "https://editor.example.org/other.json"))},
		{"document that is moved", "invalid_client", authorize(set("client_id", "https://editor.example.org/moved.json"))},
		{"document of a client with a key", "invalid_client", authorize(set("client_id", "https://editor.example.org/secret.json"))},
		{"document in the private network", "invalid_client", authorize(set("client_id", "https://127.0.0.1/client.json"))},
		{"document over http", "invalid_client", authorize(set("client_id", "http://editor.example.org/mcp-client.json"))},
		// The request for authorization, with errors for the client.
		{"token in place of a code", "unsupported_response_type", authorize(set("response_type", "token"))},
		{"no response type", "invalid_request", authorize(del("response_type"))},
		{"response in the fragment", "invalid_request", authorize(set("response_mode", "fragment"))},
		{"no PKCE", "invalid_request", authorize(del("code_challenge"), del("code_challenge_method"))},
		{"plain PKCE", "invalid_request", authorize(set("code_challenge_method", "plain"))},
		{"PKCE without a method", "invalid_request", authorize(del("code_challenge_method"))},
		{"short challenge", "invalid_request", authorize(set("code_challenge", "abc"))},
		{"other resource", "invalid_target", authorize(set("resource", "https://other.example/mcp"))},
		{"resource that begins alike", "invalid_target", authorize(set("resource", endpoint+".evil.example"))},
		{"profile that does not exist, as resource", "invalid_target", authorize(set("resource", endpoint+"/root"))},
		{"login without a person", "login_required", authorize(set("prompt", "none"))},
		{"request in a JWT", "request_not_supported", authorize(set("request", "e30.e30."))},
		// Registrations.
		{"registered script", "invalid_redirect_uri", redirects("javascript://claude.ai/%0aalert(1)")},
		{"registered data", "invalid_redirect_uri", redirects("data:text/html,x")},
		{"registered http", "invalid_redirect_uri", redirects("http://evil.example/")},
		{"registered name below localhost", "invalid_redirect_uri", redirects("http://a.localhost/")},
		{"registered fragment", "invalid_redirect_uri", redirects("https://a.example/#b")},
		{"registered user", "invalid_redirect_uri", redirects("https://a@b.example/")},
		{"registered nothing", "invalid_redirect_uri", registration(`{"redirect_uris": []}`)},
		{"registered implicit grant", "invalid_client_metadata",
			registration(`{"redirect_uris": ["https://a.example/"], "grant_types": ["implicit"]}`)},
		{"registered with nonsense", "invalid_client_metadata", registration(`{"redirect_uris": "x"`)},
		{"registered with a megabyte", "invalid_client_metadata",
			registration(`{"client_name": "` + strings.Repeat("a", 1<<20) + `"}`)},
		{"flood of registrations", "temporarily_unavailable", func(w *world, _ string) (rec *httptest.ResponseRecorder) {
			for range rateOfRegistrations().Burst + 1 {
				rec = redirects("https://a.example/")(w, "")
			}
			return rec
		}},
		// The pages.
		{"login in another browser", "not open in this browser", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.browser = map[string]string{}
			return w.get(page)
		})},
		{"consent before the login", "Log in first", page(func(w *world, page string) *httptest.ResponseRecorder {
			return w.post(page+"/consent", allow())
		})},
		{"consent of another site", "not sent by a page", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.logIn(page)
			r := w.form(page+"/consent", allow())
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			return w.do(r)
		})},
		{"consent of another origin, old browser", "not sent by a page", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.logIn(page)
			r := w.form(page+"/consent", allow())
			r.Header.Set("Origin", "https://evil.example")
			return w.do(r)
		})},
		{"page at another host", "The login of this server is at", page(func(w *world, page string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, page, nil)
			rec := httptest.NewRecorder()
			r.Host = "rebound.example"
			w.ServeHTTP(rec, r)
			return rec
		})},
		{"consent to a profile of nobody", "Choose one of the profiles", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.logIn(page)
			return w.post(page+"/consent", url.Values{"decision": {"allow"}, "profile": {"full"}, "lasts": {"1"}})
		})},
		{"consent to a profile that was not asked for", "Choose one of the profiles",
			page(func(w *world, page string) *httptest.ResponseRecorder {
				w.logIn(page)
				return w.post(page+"/consent", url.Values{"decision": {"allow"}, "profile": {"coding"}, "lasts": {"1"}})
			})},
		{"consent for ever", "how long", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.logIn(page)
			return w.post(page+"/consent", url.Values{"decision": {"allow"}, "profile": {"readonly"}, "lasts": {"36500"}})
		})},
		{"consent twice", "not open in this browser", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.logIn(page)
			w.agree(page, allow())
			return w.post(page+"/consent", allow())
		})},
		{"wrong password", "is wrong", page(func(w *world, page string) *httptest.ResponseRecorder {
			return w.post(page+"/password", url.Values{"name": {"ann"}, "password": {"x"}, "code": {w.code(w.secret, w.step)}})
		})},
		{"code of the phone twice", "is wrong", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.logIn(page)
			w.step--
			return w.post(page+"/password", url.Values{"name": {"ann"}, "password": {password}, "code": {w.code(w.secret, w.step)}})
		})},
		{"user who does not exist", "is wrong", page(func(w *world, page string) *httptest.ResponseRecorder {
			return w.post(page+"/password", url.Values{"name": {"bob"}, "password": {password}, "code": {"123456"}})
		})},
		{"passwords that are guessed", "too many wrong logins", page(func(w *world, page string) (rec *httptest.ResponseRecorder) {
			delete(w.browser, deviceCookie)
			for range 6 {
				rec = w.post(page+"/password", url.Values{"name": {"ann"}, "password": {"guess"}, "code": {"123456"}})
			}
			return rec
		})},
		{"passkey that was not asked for", "not asked for", page(func(w *world, page string) *httptest.ResponseRecorder {
			return w.do(httptest.NewRequestWithContext(t.Context(), http.MethodPost, page+"/passkey", strings.NewReader(`{"id":"x"}`)))
		})},
		{"passkey of nonsense", "not accepted", page(func(w *world, page string) *httptest.ResponseRecorder {
			w.post(page+"/passkey", nil)
			return w.do(httptest.NewRequestWithContext(t.Context(), http.MethodPost, page+"/passkey", strings.NewReader(`{"id":"x"}`)))
		})},
		{"link that was used", "was used already", func(w *world, _ string) *httptest.ResponseRecorder {
			link, err := w.Users.Link(t.Context(), "ann")
			if err != nil {
				t.Fatal(err)
			}
			w.setPassword(link)
			return w.get(strings.TrimPrefix(link, origin))
		}},
		{"link of nobody", "was used already", func(w *world, _ string) *httptest.ResponseRecorder {
			return w.get("/invite/" + strings.Repeat("a", 52))
		}},
		// The code.
		{"code of nobody", "invalid_grant", token(set("code", "x"))},
		{"code without the verifier", "invalid_grant", token(del("code_verifier"))},
		{"code with another verifier", "invalid_grant", token(set("code_verifier", verifier+"x"))},
		{"code with the challenge as verifier", "invalid_grant", token(set("code_verifier", request("").Get("code_challenge")))},
		{"code with another redirect URI", "invalid_grant", token(set("redirect_uri", other))},
		{"code without a redirect URI", "invalid_request", token(del("redirect_uri"))},
		{"code for another resource", "invalid_target", token(set("resource", "https://other.example/mcp"))},
		{"code twice in the form", "invalid_request", token(add("code", "y"))},
		{"code with a secret", "invalid_client", token(set("client_secret", "s"))},
		{"code with a key", "invalid_client", token(set("client_assertion", "s"),
			set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"))},
		{"code of another client", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			return token(set("client_id", w.register(callback)))(w, client)
		}},
		{"code of a client that was deleted", "invalid_client", func(w *world, client string) *httptest.ResponseRecorder {
			form := exchange(client, w.logInAll(client))
			w.change("DELETE FROM login_client")
			return w.post(tokenPath, form)
		}},
		{"code that has expired", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			form := exchange(client, w.logInAll(client))
			w.change("UPDATE login SET expires = {{now}} - 1")
			return w.post(tokenPath, form)
		}},
		{"code of a user who was removed", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			form := exchange(client, w.logInAll(client))
			if _, err := w.Users.Remove(t.Context(), "ann"); err != nil {
				t.Fatal(err)
			}
			return w.post(tokenPath, form)
		}},
		{"code that was used", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			form := exchange(client, w.logInAll(client))
			w.token(form)
			return w.post(tokenPath, form)
		}},
		{"parameters in the URL", "invalid_request", func(w *world, client string) *httptest.ResponseRecorder {
			return w.post(tokenPath+"?"+exchange(client, w.logInAll(client)).Encode(), nil)
		}},
		{"client credentials", "unauthorized_client", token(set("grant_type", "client_credentials"))},
		{"password grant", "unsupported_grant_type", token(set("grant_type", "password"))},
		{"no grant type", "invalid_request", token(del("grant_type"))},
		// The refresh token.
		{"refresh token of nobody", "invalid_grant", refresh(set("refresh_token", "mcpr_x"))},
		{"refresh with a wider scope", "invalid_scope", refresh(set("scope", "readonly coding"))},
		{"refresh for another resource", "invalid_target", refresh(set("resource", "https://other.example/mcp"))},
		{"refresh by another client", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			return refresh(set("client_id", w.register(callback)))(w, client)
		}},
		{"refresh of a token that was revoked", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			got := w.token(exchange(client, w.logInAll(client)))
			w.change("UPDATE token SET revoked = 1")
			return w.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {got.Refresh}})
		}},
		{"refresh token that was used, later", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			got := w.token(exchange(client, w.logInAll(client)))
			w.refresh(client, got.Refresh)
			w.change("UPDATE login_refresh SET used = used - 60000 WHERE used > 0")
			return w.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {got.Refresh}})
		}},
		{"refresh token whose successor was used", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			got := w.token(exchange(client, w.logInAll(client)))
			w.refresh(client, w.refresh(client, got.Refresh).Refresh)
			return w.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {got.Refresh}})
		}},
		{"access token as refresh token", "invalid_grant", func(w *world, client string) *httptest.ResponseRecorder {
			got := w.token(exchange(client, w.logInAll(client)))
			rec := w.post(tokenPath, url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {got.Access}})
			w.change("UPDATE token SET revoked = 1")
			return rec
		}},
	}
	db := storetest.Open(t, t.TempDir())
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			for _, table := range []string{"account", "account_passkey", "account_link", "account_device", "login", "login_client",
				"login_grant", "token", "token_access", "login_refresh", "rate"} {
				(&world{TB: t, db: db}).change("DELETE FROM " + table)
			}
			w := newWorld(t, db)
			client := w.register(callback)
			rec := a.do(w, client)
			body, to := rec.Body.String(), rec.Header().Get("Location")
			if to != "" {
				u, err := url.Parse(to)
				if err != nil || u.Host != "claude.ai" {
					t.Fatalf("the browser was sent to %s", to)
				}
				if q := u.Query(); q.Get("iss") != origin || q.Get("state") != "s&1" || q.Get("code") != "" {
					t.Errorf("the response is %s", to)
				}
				body = u.Query().Get("error")
			} else if rec.Code < http.StatusBadRequest || rec.Code >= http.StatusInternalServerError {
				t.Errorf("the status is %d", rec.Code)
			}
			if !strings.Contains(body, a.want) {
				t.Errorf("got %s, want %q", body, a.want)
			}
			if n := w.issued(); n != 0 {
				t.Errorf("%d tokens count", n)
			}
			refused := 0
			for _, r := range w.records {
				if r.Outcome == "refused" && r.Kind == "login" && r.Error != "" {
					refused++
				}
			}
			if refused == 0 {
				t.Errorf("no refusal was recorded: %+v", w.records)
			}
		})
	}
}

// TestPagesAreNotFramed checks the headers of all pages.
func TestPagesAreNotFramed(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	page := w.begin(request(w.register(callback)))
	link, err := w.Users.Link(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{page, strings.TrimPrefix(link, origin), "/login/nothing", "/invite/nothing",
		authorizePath + "?client_id=x", "/login/style.css"} {
		h := w.get(path).Header()
		if !strings.Contains(h.Get("Content-Security-Policy"), "frame-ancestors 'none'") || h.Get("X-Frame-Options") != "DENY" {
			t.Errorf("%s may be framed: %v", path, h)
		}
		if strings.Contains(h.Get("Content-Security-Policy"), "unsafe") || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s has the headers %v", path, h)
		}
	}
}

// TestHostileNames shows names of clients that try to be something else.
func TestHostileNames(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	body, err := json.Marshal(map[string]any{"redirect_uris": []string{callback},
		"client_name": "<script>alert(1)</script>\u202egnp\nAnthropic " + strings.Repeat("x", 500)})
	if err != nil {
		t.Fatal(err)
	}
	rec := w.do(httptest.NewRequestWithContext(t.Context(), http.MethodPost, registerPath, strings.NewReader(string(body))))
	id := regexp.MustCompile(`"client_id":"([^"]*)"`).FindStringSubmatch(rec.Body.String())
	text := w.get(w.begin(request(id[1]))).Body.String()
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "\u202e") || strings.Contains(text, strings.Repeat("x", 90)) {
		t.Errorf("the page is %s", text)
	}
}

// TestOthersCannotLockOut guesses at a name from many addresses. The person still logs in with her browser.
func TestOthersCannotLockOut(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	page := w.begin(request(w.register(callback)))
	mine := w.browser[deviceCookie]
	delete(w.browser, deviceCookie)
	guess := url.Values{"name": {"ann"}, "password": {"guess"}, "code": {"123456"}}
	last := 0
	for i := range 25 {
		w.from = "198.51.100." + string(rune('0'+i%10)) + ":1"
		last = w.post(page+"/password", guess).Code
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the last guess has the status %d", last)
	}
	w.browser[deviceCookie] = mine
	w.logIn(page)
}

package login

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/oauth"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tokens"
)

// machine creates a machine. keys is its key set, "" for a secret.
func (w *world) machine(keys string, profiles ...string) (id, secret string) {
	w.Helper()
	plain, token, err := w.table.CreateClient(w.Context(), tokens.Token{Name: "nightly", Profiles: profiles, User: "bob"}, keys)
	if err != nil {
		w.Fatal(err)
	}
	return token.ID, plain.Reveal()
}

// keySet returns a public key as a key set, by way of PEM.
func keySet(t testing.TB, key crypto.Signer) string {
	t.Helper()
	raw, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	set, err := oauth.ParseKeys(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: raw}))
	if err != nil {
		t.Fatal(err)
	}
	return string(set)
}

// claimsOf returns the claims of a good assertion, after changes.
func claimsOf(id string, changes ...func(map[string]any)) map[string]any {
	now := time.Now().Unix()
	c := map[string]any{"iss": id, "sub": id, "aud": origin, "iat": now, "exp": now + 300, "jti": rand.Text()}
	for _, change := range changes {
		change(c)
	}
	return c
}

func sign(t testing.TB, alg jose.SignatureAlgorithm, key any, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: "any"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return compact
}

func asserted(assertion string) url.Values {
	return url.Values{"grant_type": {"client_credentials"}, "client_assertion": {assertion}, "resource": {endpoint},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"}}
}

func secretOf(id, secret string) url.Values {
	return url.Values{"grant_type": {"client_credentials"}, "client_id": {id}, "client_secret": {secret}, "resource": {endpoint}}
}

func ecKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// TestMachines gets tokens by a secret and by keys, and ends them.
func TestMachines(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.Store) {
		w := newWorld(t, db)
		id, secret := w.machine("", "readonly", "coding")
		one := w.token(secretOf(id, secret))
		r := w.form(tokenPath, url.Values{"grant_type": {"client_credentials"}, "scope": {"coding full"}})
		r.SetBasicAuth(id, secret)
		var two granted
		if err := json.Unmarshal(w.do(r).Body.Bytes(), &two); err != nil {
			t.Fatal(err)
		}
		for _, got := range []granted{one, two} {
			token, err := w.table.Authenticate(t.Context(), got.Access)
			if err != nil || token.ID != id || token.User != "bob" || got.Scope != "readonly coding" || got.Expires != 3600 || got.Refresh != "" {
				t.Errorf("tokens: %+v, %+v, %v", got, token, err)
			}
		}
		if got := w.recorded("token"); cmp.Diff(got, []string{"ok", "ok"}) != "" {
			t.Errorf("recorded: %v", got)
		}
		end := secretOf(id, secret)
		end.Set("token", one.Access)
		if rec := w.post(revokePath, end); rec.Code != http.StatusOK || w.valid(one.Access) || !w.valid(two.Access) {
			t.Errorf("the revocation of one token: %d", rec.Code)
		}
		if err := w.table.Revoke(t.Context(), "nightly"); err != nil {
			t.Fatal(err)
		}
		if got := w.token(secretOf(id, secret)); w.valid(two.Access) || got.Error != "invalid_client" || got.Status != http.StatusUnauthorized {
			t.Errorf("after token revoke: %+v", got)
		}
	})
}

func TestMachinesWithKeys(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	for alg, key := range map[jose.SignatureAlgorithm]crypto.Signer{jose.RS256: small, jose.PS256: small, jose.ES256: ecKey(t), jose.EdDSA: edwards} {
		id, _ := w.machine(keySet(t, key), "*")
		got := w.token(asserted(sign(t, alg, key, claimsOf(id))))
		if !w.valid(got.Access) || got.Scope != "coding full lean readonly" {
			t.Errorf("%s: %+v", alg, got)
		}
		at := func(c map[string]any) { c["aud"] = []string{origin + tokenPath} }
		if got := w.token(asserted(sign(t, alg, key, claimsOf(id, at)))); !w.valid(got.Access) {
			t.Errorf("%s, for the endpoint: %+v", alg, got)
		}
	}
	end := time.Now().Add(10 * time.Minute)
	plain, token, err := w.table.CreateClient(t.Context(), tokens.Token{Profiles: []string{"readonly"}, Expires: end}, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := w.token(secretOf(token.ID, plain.Reveal())); got.Expires > 600 || got.Expires < 60 {
		t.Errorf("a token that ends in ten minutes: %+v", got)
	}
}

// TestMachineAttacks sends requests that must be refused, recorded, and lead to no token.
func TestMachineAttacks(t *testing.T) {
	w := newWorld(t, storetest.Open(t, t.TempDir()))
	key, other := ecKey(t), ecKey(t)
	id, _ := w.machine(keySet(t, key), "readonly")
	otherID, _ := w.machine(keySet(t, other), "full")
	named, secret := w.machine("", "readonly")
	public := w.register(callback)
	by := func(key any, change func(map[string]any)) url.Values {
		return asserted(sign(t, jose.ES256, key, claimsOf(id, change)))
	}
	claim := func(name string, value any) url.Values {
		return by(key, func(c map[string]any) { c[name] = value })
	}
	with := func(form url.Values, changes ...change) url.Values {
		for _, change := range changes {
			change(form)
		}
		return form
	}
	now := time.Now().Unix()
	used := claim("jti", "once")
	if got := w.token(used); !w.valid(got.Access) {
		t.Fatalf("tokens: %+v", got)
	}
	hmac := []byte(keySet(t, key))
	unsigned := "eyJhbGciOiJub25lIn0." + strings.Split(used.Get("client_assertion"), ".")[1] + "."
	for _, a := range []struct {
		name, want string
		form       url.Values
	}{
		{"wrong secret", "invalid_client", secretOf(named, secret+"x")},
		{"secret of another machine", "invalid_client", secretOf(id, secret)},
		{"no such machine", "invalid_client", secretOf("3FxPq0aZ", secret)},
		{"a token as secret", "invalid_client", secretOf(named, "mcpt_x")},
		{"no secret", "invalid_client", with(secretOf(named, ""), del("client_secret"))},
		{"program for people", "unauthorized_client", with(secretOf(public, ""), del("client_secret"))},
		{"program for people with a secret", "invalid_client", secretOf(public, secret)},
		{"two ways at once", "invalid_request", with(claim("jti", "two"), set("client_id", named), set("client_secret", secret))},
		{"assertion twice", "invalid_client", used},
		{"assertion for another server", "invalid_client", claim("aud", "https://other.example")},
		{"assertion that has expired", "invalid_client", claim("exp", now-60)},
		{"assertion without an end", "invalid_client", by(key, func(c map[string]any) { delete(c, "exp") })},
		{"assertion for a year", "invalid_client", claim("exp", now+365*24*3600)},
		{"assertion of a clock 60 s ahead", "invalid_client", claim("iat", now+60)},
		{"assertion not valid yet", "invalid_client", claim("nbf", now+60)},
		{"assertion about another", "invalid_client", claim("sub", otherID)},
		{"assertion by another", "invalid_client", claim("iss", otherID)},
		{"assertion about nobody", "invalid_client", claim("sub", "")},
		{"assertion signed by another", "invalid_client", by(other, func(map[string]any) {})},
		{"assertion with the public key as secret", "invalid_client", asserted(sign(t, jose.HS256, hmac, claimsOf(id)))},
		{"assertion without a signature", "invalid_client", asserted(unsigned)},
		{"assertion of nonsense", "invalid_client", asserted("x.y.z")},
		{"assertion of a machine with a secret", "invalid_client", asserted(sign(t, jose.ES256, key, claimsOf(named)))},
		{"assertion of another type", "invalid_request", with(claim("jti", "saml"), set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"))},
		{"assertion for another client", "invalid_client", with(claim("jti", "other"), set("client_id", otherID))},
		{"other resource", "invalid_target", with(secretOf(named, secret), set("resource", "https://other.example/mcp"))},
		{"scopes of others", "invalid_scope", with(secretOf(named, secret), set("scope", "coding full"))},
		{"code", "unauthorized_client", with(secretOf(named, secret), set("grant_type", "authorization_code"), set("code", "x"))},
		{"refresh token", "unauthorized_client", with(secretOf(named, secret), set("grant_type", "refresh_token"), set("refresh_token", "x"))},
		{"token exchange", "unauthorized_client", with(secretOf(named, secret),
			set("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"))},
		{"assertion as a grant", "unsupported_grant_type", url.Values{"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
			"assertion": {sign(t, jose.ES256, key, claimsOf(id))}}},
	} {
		t.Run(a.name, func(t *testing.T) {
			before := len(w.records)
			got := w.token(a.form)
			if got.Error != a.want || got.Access != "" {
				t.Errorf("%+v, want %s", got, a.want)
			}
			if len(w.records) != before+1 || w.records[before].Outcome != "refused" || w.records[before].Error == "" {
				t.Errorf("recorded: %+v", w.records[before:])
			}
		})
	}
	r := w.form(tokenPath, url.Values{"grant_type": {"client_credentials"}})
	r.SetBasicAuth(named, "wrong")
	if rec := w.do(r); rec.Code != http.StatusUnauthorized || !strings.HasPrefix(rec.Header().Get("WWW-Authenticate"), "Basic ") {
		t.Errorf("%d %v", rec.Code, rec.Header())
	}
	// A machine begins no login.
	rec := httptest.NewRecorder()
	r = httptest.NewRequestWithContext(t.Context(), http.MethodGet, authorizePath+"?"+request(named).Encode(), nil)
	r.Host = "tools.example.com"
	w.ServeHTTP(rec, r)
	if rec.Code < http.StatusBadRequest || rec.Header().Get("Location") != "" {
		t.Errorf("a login of a machine: %d %v", rec.Code, rec.Header())
	}
}

package oauth

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const audience = "https://mcp.example.com/mcp"

// An issuer publishes keys and signs tokens on this machine.
type issuer struct {
	*httptest.Server
	web outbound.Client // reaches it

	mu    sync.Mutex
	keys  []jose.JSONWebKey
	asked map[string]int // requests by path
	down  bool
	hold  chan struct{} // if not nil, answers wait until it is closed
}

func newIssuer(t testing.TB) *issuer {
	is := &issuer{asked: map[string]int{}}
	is.Server = httptest.NewServer(is)
	is.web = egresstest.Local(t, is.URL)
	t.Cleanup(is.Close)
	return is
}

func (is *issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	is.mu.Lock()
	is.asked[r.URL.Path]++
	keys, down, hold := is.keys, is.down, is.hold
	is.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	switch {
	case down:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case r.URL.Path == "/.well-known/oauth-authorization-server":
		writeJSON(w, map[string]string{"issuer": is.URL, "jwks_uri": is.URL + "/keys"})
	case r.URL.Path == "/keys":
		writeJSON(w, jose.JSONWebKeySet{Keys: keys})
	default:
		http.NotFound(w, r)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (is *issuer) publish(keys ...jose.JSONWebKey) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.keys = keys
}

func (is *issuer) setDown(down bool) {
	is.mu.Lock()
	defer is.mu.Unlock()
	is.down = down
}

// requests says how often the keys were fetched.
func (is *issuer) requests() int {
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.asked["/keys"]
}

// A clock stands still until it is moved.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

func newClock() *clock { return &clock{now: time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)} }

// config is one that trusts the issuer.
func (is *issuer) config(c *clock) Config {
	return Config{
		Issuer:    is.URL,
		Audiences: []string{audience},
		ScopeProfiles: map[string][]string{
			"mcp:read": {"readonly", "lean"},
			"mcp:work": {"coding", "readonly"},
		},
		HTTP: is.web,
		Now:  c.Now,
	}
}

func verifier(t testing.TB, c Config) *Verifier {
	t.Helper()
	v, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// A pair is a key with which to sign.
type pair struct {
	kid     string
	alg     jose.SignatureAlgorithm
	private crypto.Signer
}

func (p pair) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: p.private.Public(), KeyID: p.kid, Algorithm: string(p.alg), Use: "sig"}
}

func newRSA(t testing.TB, kid string, alg jose.SignatureAlgorithm) pair {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, minRSA)
	if err != nil {
		t.Fatal(err)
	}
	return pair{kid, alg, key}
}

func newEC(t testing.TB, kid string) pair {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pair{kid, jose.ES256, key}
}

func newEd(t testing.TB, kid string) pair {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return pair{kid, jose.EdDSA, key}
}

// set is a set of claims, or changes to one. A nil value takes a claim away.
type set map[string]any

// claims are good ones, with changes.
func (is *issuer) claims(c *clock, changes set) set {
	all := set{
		"iss": is.URL, "sub": "ada", "aud": audience, "client_id": "editor", "jti": "t-1",
		"iat": c.Now().Unix(), "exp": c.Now().Add(time.Hour).Unix(), "scope": "openid mcp:work",
	}
	maps.Copy(all, changes)
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == nil })
	return all
}

func (p pair) sign(t testing.TB, header set, claims any) string {
	t.Helper()
	return sign(t, jose.SigningKey{Algorithm: p.alg, Key: p.private}, p.kid, header, claims)
}

func sign(t testing.TB, key jose.SigningKey, kid string, header set, claims any) string {
	t.Helper()
	payload, isText := claims.(string)
	if !isText {
		text, err := json.Marshal(claims)
		if err != nil {
			t.Fatal(err)
		}
		payload = string(text)
	}
	options := (&jose.SignerOptions{}).WithType("at+jwt")
	if kid != "" {
		options.WithHeader("kid", kid)
	}
	for name, value := range header {
		options.WithHeader(jose.HeaderKey(name), value)
		if value == nil {
			delete(options.ExtraHeaders, jose.HeaderKey(name))
		}
	}
	signer, err := jose.NewSigner(key, options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign([]byte(payload))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

package oauth

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
)

func TestValidTokens(t *testing.T) {
	is, now := newIssuer(t), newClock()
	rs := newRSA(t, "rs", jose.RS256)
	pairs := []pair{rs, {"ps", jose.PS256, rs.private}, newEC(t, "es"), newEd(t, "ed")}
	var published []jose.JSONWebKey
	for _, p := range pairs {
		published = append(published, p.public())
	}
	is.publish(published...)
	v := verifier(t, is.config(now))
	for _, p := range pairs {
		got, err := v.Verify(t.Context(), p.sign(t, nil, is.claims(now, nil)))
		if err != nil {
			t.Fatalf("%s: %v", p.alg, err)
		}
		want := Grant{
			Subject: "oauth:user:ada", ID: "t-1", Agent: "editor", User: "ada",
			Profiles: []string{"coding", "readonly"}, Scopes: []string{"mcp:work"},
			ExpiresAt: now.Now().Add(time.Hour),
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", p.alg, diff)
		}
	}
	if n := is.requests(); n != 1 {
		t.Errorf("the keys were fetched %d times, want once", n)
	}
}

func TestInvalidClaims(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEd(t, "k")
	is.publish(key.public())
	config := is.config(now)
	config.Audiences = append(config.Audiences, "api://second")
	v := verifier(t, config)
	at := func(d time.Duration) int64 { return now.Now().Add(d).Unix() }
	long := strings.Repeat("a", maxName+1)
	const good Code = ""
	cases := []struct {
		name   string
		header set
		claims any // a set of changes, or the payload itself
		want   Code
		why    string
	}{
		{"second audience", nil, set{"aud": []string{"else", "api://second"}}, good, ""},
		{"wrong audience", nil, set{"aud": "https://mcp.example.com"}, InvalidToken, "audience"},
		{"audience with a slash", nil, set{"aud": audience + "/"}, InvalidToken, "audience"},
		{"no audience", nil, set{"aud": nil}, InvalidToken, "audience"},
		{"empty audiences", nil, set{"aud": []string{}}, InvalidToken, "audience"},
		{"audience is a number", nil, set{"aud": 7}, InvalidToken, "decoded"},
		{"wrong issuer", nil, set{"iss": "https://else.example.com"}, InvalidToken, "issuer"},
		{"issuer with a slash", nil, set{"iss": is.URL + "/"}, InvalidToken, "issuer"},
		{"no issuer", nil, set{"iss": nil}, InvalidToken, "issuer"},

		{"expired within leeway", nil, set{"iat": at(-time.Hour), "exp": at(-29 * time.Second)}, good, ""},
		{"expired", nil, set{"iat": at(-time.Hour), "exp": at(-30 * time.Second)}, InvalidToken, "expired"},
		{"no exp", nil, set{"exp": nil}, InvalidToken, "when it expires"},
		{"exp zero", nil, set{"exp": 0, "iat": nil}, InvalidToken, "expired"},
		{"exp a string", nil, set{"exp": fmt.Sprint(at(time.Hour))}, InvalidToken, "decoded"},
		{"exp beyond all years", nil, set{"exp": 1e300}, InvalidToken, "date"},
		{"exp negative", nil, set{"exp": -1}, InvalidToken, "date"},
		{"exp with a fraction", nil, set{"exp": float64(at(time.Hour)) + 0.5}, good, ""},
		{"exp before iat", nil, set{"iat": at(20 * time.Second), "exp": at(10 * time.Second)}, InvalidToken,
			"before it was issued"},
		{"not yet valid", nil, set{"nbf": at(time.Minute)}, InvalidToken, "not valid yet"},
		{"nbf within leeway", nil, set{"nbf": at(30 * time.Second)}, good, ""},
		{"from the future", nil, set{"iat": at(time.Minute)}, InvalidToken, "future"},
		{"no iat", nil, set{"iat": nil}, good, ""},

		{"typ JWT", set{"typ": "JWT"}, set{}, good, ""},
		{"typ in full", set{"typ": "application/AT+JWT"}, set{}, good, ""},
		{"no typ", set{"typ": nil}, set{}, good, ""},
		{"typ of another token", set{"typ": "logout+jwt"}, set{}, InvalidToken, "not an access token"},
		{"typ not a string", set{"typ": 7}, set{}, InvalidToken, "not an access token"},
		{"critical extension", set{"crit": []string{"b64"}, "b64": true}, set{}, InvalidToken, ""},
		{"no kid, only key", set{"kid": nil}, set{}, good, ""},

		{"long token", nil, set{"more": strings.Repeat("a", maxToken)}, InvalidToken, "token is too long"},
		{"rather long token", nil, set{"more": strings.Repeat("a", maxToken/2)}, good, ""},
		{"no subject", nil, set{"sub": nil, "client_id": nil}, InvalidToken, "neither"},
		{"only a client", nil, set{"sub": nil, "client_id": nil, "azp": "robot"}, good, ""},
		{"subject with a line break", nil, set{"sub": "ada\nadmin"}, InvalidToken, "control characters"},
		{"long subject", nil, set{"sub": long}, InvalidToken, "too long"},
		{"long client", nil, set{"client_id": long}, InvalidToken, "too long"},
		{"long id", nil, set{"jti": long}, InvalidToken, "too long"},
		{"bound to a key", nil, set{"cnf": set{"jkt": "x"}}, InvalidToken, "bearer"},

		{"no scope", nil, set{"scope": nil}, InsufficientScope, "no scope"},
		{"scopes of others", nil, set{"scope": "openid mcp mcp:work:more MCP:WORK"}, InsufficientScope, "no scope"},
		{"scope as a list", nil, set{"scope": []string{"mcp:work"}}, good, ""},
		{"scp as a list", nil, set{"scope": nil, "scp": []string{"mcp:read"}}, good, ""},
		{"scp as a string", nil, set{"scope": nil, "scp": "a mcp:read"}, good, ""},
		{"scope is a number", nil, set{"scope": 1}, InvalidToken, "decoded"},

		{"claim twice", nil, `{"iss":"a","iss":"` + is.URL + `"}`, InvalidToken, "decoded"},
		{"claims in capitals", nil, `{"ISS":"` + is.URL + `"}`, InvalidToken, "issuer"},
		{"claims are a list", nil, `[]`, InvalidToken, "decoded"},
		{"claims are null", nil, `null`, InvalidToken, "issuer"},
		{"claims are no JSON", nil, `hello`, InvalidToken, "decoded"},
		{"deep claims", nil, `{"x":` + strings.Repeat("[", 11000), InvalidToken, "decoded"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			claims := c.claims
			if changes, ok := claims.(set); ok {
				claims = is.claims(now, changes)
			}
			token := key.sign(t, c.header, claims)
			grant, err := v.Verify(t.Context(), token)
			check(t, token, grant, err, c.want, c.why)
		})
	}
}

// check compares what Verify said about a token. No code wanted means good.
func check(t *testing.T, token string, grant Grant, err error, want Code, why string) {
	t.Helper()
	if want == "" {
		if err != nil || len(grant.Profiles) == 0 || grant.Subject == "" {
			t.Errorf("grant %+v, error %v", grant, err)
		}
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Code != want || !strings.Contains(e.Why, why) {
		t.Fatalf("error %v, want %s with %q", err, want, why)
	}
	if diff := cmp.Diff(Grant{}, grant); diff != "" {
		t.Errorf("a refused token gets a grant (-want +got):\n%s", diff)
	}
	for part := range strings.SplitSeq(token, ".") {
		if len(part) > 8 && strings.Contains(err.Error(), part) {
			t.Errorf("the error has a part of the token: %v", err)
		}
	}
}

func TestForgeries(t *testing.T) {
	is, now := newIssuer(t), newClock()
	rsaKey, edKey := newRSA(t, "rs", jose.RS256), newEd(t, "ed")
	thief := newEd(t, "ed") // has the issuer's key id
	is.publish(rsaKey.public(), edKey.public())
	v := verifier(t, is.config(now))
	claims := is.claims(now, nil)
	good := rsaKey.sign(t, nil, claims)
	parts := strings.Split(good, ".")
	encode := base64.RawURLEncoding.EncodeToString
	none := encode([]byte(`{"alg":"none","typ":"at+jwt","kid":"rs"}`))
	embedded := jose.SigningKey{Algorithm: jose.EdDSA, Key: jose.JSONWebKey{Key: thief.private, KeyID: "ed"}}
	der, err := x509.MarshalPKIXPublicKey(rsaKey.private.Public())
	if err != nil {
		t.Fatal(err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	hs := func(secret []byte) string {
		return sign(t, jose.SigningKey{Algorithm: jose.HS256, Key: secret}, "rs", nil, claims)
	}
	cases := []struct{ name, token string }{
		{"empty", ""},
		{"dots", ".."},
		{"garbage", "a.b.c"},
		{"none", none + "." + parts[1] + "."},
		{"none with a signature", none + "." + parts[1] + "." + parts[2]},
		{"no signature", parts[0] + "." + parts[1] + "."},
		{"HS256 with the public key in PEM", hs(public)},
		{"HS256 with the public key in DER", hs(der)},
		{"another's key under a known id", thief.sign(t, nil, claims)},
		{"key in the header", signEmbedded(t, embedded, claims)},
		{"key by URL", thief.sign(t, set{"jku": "https://evil.example.com/keys"}, claims)},
		{"another's claims", parts[0] + "." + encode([]byte(`{"sub":"root"}`)) + "." + parts[2]},
		{"RSA key named, Ed25519 used", sign(t, jose.SigningKey{Algorithm: jose.EdDSA, Key: edKey.private}, "rs", nil,
			claims)},
		{"algorithm that the key is not for", sign(t, jose.SigningKey{Algorithm: jose.PS256, Key: rsaKey.private},
			"rs", nil, claims)},
		{"algorithm that is not accepted", sign(t, jose.SigningKey{Algorithm: jose.RS512, Key: rsaKey.private}, "rs",
			nil, claims)},
		{"huge header", encode([]byte(strings.Repeat("[", maxToken/2))) + "." + parts[1] + "." + parts[2]},
		{"JSON serialization", `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` +
			parts[2] + `"}`},
	}
	if _, err := v.Verify(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			now.move(time.Minute) // the issuer may be asked again
			grant, err := v.Verify(t.Context(), c.token)
			check(t, c.token, grant, err, InvalidToken, "")
		})
	}
}

// signEmbedded signs with a key that the token brings along.
func signEmbedded(t *testing.T, key jose.SigningKey, claims any) string {
	t.Helper()
	text := sign(t, key, "", nil, claims)
	signer, err := jose.NewSigner(key, (&jose.SignerOptions{EmbedJWK: true}).WithType("JWT"))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err = signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestScopesGrantProfiles(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEd(t, "k")
	is.publish(key.public())
	v := verifier(t, is.config(now))
	cases := []struct {
		scope            string
		scopes, profiles []string
	}{
		{"mcp:work", []string{"mcp:work"}, []string{"coding", "readonly"}},
		{"mcp:read", []string{"mcp:read"}, []string{"readonly", "lean"}},
		{"mcp:work  openid mcp:read mcp:work", []string{"mcp:read", "mcp:work"},
			[]string{"readonly", "lean", "coding"}},
	}
	for _, c := range cases {
		grant, err := v.Verify(t.Context(), key.sign(t, nil, is.claims(now, set{"scope": c.scope})))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{c.scopes, c.profiles}, [][]string{grant.Scopes, grant.Profiles}); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.scope, diff)
		}
	}
}

// TestClientTokens checks that a client that acts for itself is not taken for the user of the same name.
func TestClientTokens(t *testing.T) {
	is, now := newIssuer(t), newClock()
	key := newEd(t, "k")
	is.publish(key.public())
	v := verifier(t, is.config(now))
	client, err := v.Verify(t.Context(), key.sign(t, nil, is.claims(now, set{"sub": nil, "client_id": "ada"})))
	if err != nil {
		t.Fatal(err)
	}
	if client.Subject != "oauth:client:ada" || client.User != "" || client.Agent != "ada" {
		t.Errorf("grant of a client: %+v", client)
	}
}

func FuzzVerify(f *testing.F) {
	is, now := newIssuer(f), newClock()
	key := newEd(f, "k")
	is.publish(key.public())
	v := verifier(f, is.config(now))
	f.Add(key.sign(f, nil, is.claims(now, nil)))
	f.Add(key.sign(f, set{"crit": []string{"exp"}}, is.claims(now, set{"aud": []any{1, nil}})))
	f.Add("..")
	f.Add("e30.e30.e30")
	f.Fuzz(func(t *testing.T, token string) {
		var e *Error
		if _, err := v.Verify(t.Context(), token); err != nil && !errors.As(err, &e) {
			t.Errorf("an error of another kind: %v", err)
		}
	})
}

// FuzzClaims checks unusual claims. Claims are signed, so only an issuer can
// send them; but issuers differ.
func FuzzClaims(f *testing.F) {
	is, now := newIssuer(f), newClock()
	v := verifier(f, is.config(now))
	f.Add([]byte(`{"iss":"a","aud":["b"],"exp":1e9,"scope":"a b","scp":["c"],"cnf":{}}`))
	f.Add([]byte(`{"aud":null,"exp":-0.5,"scp":""}`))
	f.Fuzz(func(t *testing.T, payload []byte) {
		c, err := parseClaims(payload)
		if err != nil || v.checkClaims(c) != nil {
			return
		}
		if c.Issuer != is.URL || c.Expires == nil || !c.Expires.time().After(now.Now().Add(-leeway)) {
			t.Errorf("accepted: %+v", c)
		}
	})
}

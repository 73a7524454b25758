package oauth

import (
	"crypto/rsa"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/mcp-tools/mcp-tools/internal/egress"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
)

func TestWellKnown(t *testing.T) {
	cases := []struct {
		issuer string
		want   []string
	}{
		{"https://a.example.com", []string{
			"https://a.example.com/.well-known/oauth-authorization-server",
			"https://a.example.com/.well-known/openid-configuration",
		}},
		{"https://a.example.com:8443/", []string{
			"https://a.example.com:8443/.well-known/oauth-authorization-server",
			"https://a.example.com:8443/.well-known/openid-configuration",
		}},
		{"https://a.example.com/realms/x%2Fy", []string{
			"https://a.example.com/.well-known/oauth-authorization-server/realms/x%2Fy",
			"https://a.example.com/.well-known/openid-configuration/realms/x%2Fy",
			"https://a.example.com/realms/x%2Fy/.well-known/openid-configuration",
		}},
	}
	for _, c := range cases {
		if diff := cmp.Diff(c.want, wellKnown(c.issuer)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.issuer, diff)
		}
	}
}

// site serves fixed answers by path and counts all requests.
type site struct {
	*httptest.Server
	answers map[string]http.HandlerFunc
	asked   []string
}

func newSite(t *testing.T) *site {
	s := &site{answers: map[string]http.HandlerFunc{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.URL.Path) // one request at a time
		if answer := s.answers[r.URL.Path]; answer != nil {
			answer(w, r)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func text(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }
}

func metadata(issuer, keys string) http.HandlerFunc {
	return text(`{"issuer":"` + issuer + `","jwks_uri":"` + keys + `","token_endpoint":"x"}`)
}

func redirect(to string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, http.StatusFound) }
}

func TestFetchingKeys(t *testing.T) {
	key := newEd(t, "k")
	public, err := key.public().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	set := `{"keys":[` + string(public) + `]}`
	const path = "/tenant"
	const oauthPath, oidcPath, oidcEnd = "/.well-known/oauth-authorization-server/tenant",
		"/.well-known/openid-configuration/tenant", "/tenant/.well-known/openid-configuration"
	cases := []struct {
		name  string
		setUp func(s, other *site)
		want  string // in the error; empty for none
	}{
		{"oauth metadata", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/keys")
		}, ""},
		{"openid metadata", func(s, _ *site) {
			s.answers[oidcPath] = metadata(s.URL+path, s.URL+"/keys")
		}, ""},
		{"openid metadata at the end", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL, s.URL+"/bad")
			s.answers[oidcPath] = text("<html>")
			s.answers[oidcEnd] = metadata(s.URL+path, s.URL+"/keys")
		}, ""},
		{"keys at another origin", func(s, other *site) {
			s.answers[oauthPath] = metadata(s.URL+path, other.URL+"/keys")
			other.answers["/keys"] = text(set)
		}, ""},
		{"redirect at home", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/old")
			s.answers["/old"] = redirect("/keys")
		}, ""},
		{"nothing", func(_, _ *site) {}, "404"},
		{"metadata of another issuer", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path+"/", s.URL+"/keys")
		}, "is of issuer"},
		{"metadata without keys", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, "")
		}, "jwks_uri"},
		{"keys over plain http", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, "http://keys.example.com/")
		}, "want https"},
		{"keys in a file", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, "file:///etc/passwd")
		}, "want https://host"},
		{"redirect elsewhere", func(s, other *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/old")
			s.answers["/old"] = redirect(other.URL + "/never")
		}, "another origin"},
		{"metadata elsewhere", func(s, other *site) {
			s.answers[oauthPath] = redirect(other.URL + "/never")
		}, "another origin"},
		{"redirect for ever", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/old")
			s.answers["/old"] = redirect("/old")
		}, "too often"},
		{"endless keys", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/keys")
			s.answers["/keys"] = text(set + strings.Repeat(" ", maxBody))
		}, "larger than the limit"},
		{"too many keys", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/keys")
			s.answers["/keys"] = text(`{"keys":[` + strings.Repeat("{},", maxKeys) + `{}]}`)
		}, "101 keys"},
		{"no list of keys", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/keys")
			s.answers["/keys"] = text(`{"error":"x"}`)
		}, "no list"},
		{"deep keys", func(s, _ *site) {
			s.answers[oauthPath] = metadata(s.URL+path, s.URL+"/keys")
			s.answers["/keys"] = text(`{"keys":[` + strings.Repeat("[", maxBody-20))
		}, "reading the issuer's keys"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s, other := newSite(t), newSite(t)
			s.answers["/keys"] = text(set)
			c.setUp(s, other)
			src := newSource(Config{Issuer: s.URL + path, HTTP: egresstest.Local(t, s.URL, other.URL)})
			keys, err := src.keys(t.Context())
			if c.want == "" {
				if err != nil || len(keys) != 1 || keys[0].KeyID != "k" {
					t.Fatalf("keys %v, error %v", keys, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if len(other.asked) > 0 {
				t.Errorf("the other origin was asked for %q", other.asked)
			}
		})
	}
}

// TestDiscoveryIsDoneOnce checks that the URL of the keys is cached while it works.
func TestDiscoveryIsDoneOnce(t *testing.T) {
	s := newSite(t)
	s.answers["/.well-known/oauth-authorization-server"] = metadata(s.URL, s.URL+"/keys")
	s.answers["/keys"] = text(`{"keys":[]}`)
	src := newSource(Config{Issuer: s.URL, HTTP: egresstest.Local(t, s.URL)})
	fetch := func(wantErr bool, want ...string) {
		t.Helper()
		s.asked = nil
		if _, err := src.keys(t.Context()); (err != nil) != wantErr {
			t.Errorf("error %v", err)
		}
		if diff := cmp.Diff(want, s.asked); diff != "" {
			t.Errorf("requests (-want +got):\n%s", diff)
		}
	}
	const wellKnown = "/.well-known/oauth-authorization-server"
	fetch(false, wellKnown, "/keys")
	fetch(false, "/keys")
	s.answers["/keys"] = nil
	s.answers["/moved"] = text(`{"keys":[]}`)
	s.answers[wellKnown] = metadata(s.URL, s.URL+"/moved")
	fetch(true, "/keys")
	fetch(false, wellKnown, "/moved")
}

// TestClient: a request that has failed for a moment is sent again with its credential, unless it may have had an
// effect; addresses outside the rules are not reached.
func TestClient(t *testing.T) {
	s, private := newSite(t), newSite(t)
	busy := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }
	broken := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }
	client := Client(egresstest.Local(t, s.URL))
	for name, c := range map[string]struct {
		first  http.HandlerFunc
		status int
		asked  int
	}{
		"busy":   {busy, http.StatusOK, 2},
		"broken": {broken, http.StatusInternalServerError, 1},
	} {
		s.asked = nil
		s.answers["/token"] = func(w http.ResponseWriter, r *http.Request) {
			id, secret, _ := r.BasicAuth()
			if r.FormValue("grant_type") != "x" || id != "id" || secret != "word" {
				t.Errorf("%s: the form is %v, of %s", name, r.Form, id)
			}
			if len(s.asked) == 1 {
				c.first(w, r)
			}
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/token", strings.NewReader("grant_type=x"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.SetBasicAuth("id", "word")
		res, err := client.Do(r)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = res.Body.Close()
		if res.StatusCode != c.status || len(s.asked) != c.asked {
			t.Errorf("%s: status %d after %d requests", name, res.StatusCode, len(s.asked))
		}
	}
	res, err := client.Get(private.URL)
	if err == nil {
		_ = res.Body.Close()
	}
	if err == nil || !strings.Contains(err.Error(), "may not be reached") || len(private.asked) > 0 {
		t.Errorf("a private address: %v, asked for %q", err, private.asked)
	}
}

func TestKeysOverTLS(t *testing.T) {
	is, now := newIssuer(t), newClock()
	secure := httptest.NewUnstartedServer(is)
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	secure.StartTLS()
	defer secure.Close()
	is.URL = secure.URL
	key := newEC(t, "k")
	is.publish(key.public())
	config := is.config(now)
	local := egress.Rules{AllowPrivate: []string{strings.TrimPrefix(is.URL, "https://")}}
	web, err := egress.NewClient(egress.ClientOptions{
		Roots: secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs,
		Rules: func(string) (egress.Rules, error) { return local, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	defer web.Close()
	config.HTTP = web
	if got := code(t, verifier(t, config), key.sign(t, nil, is.claims(now, nil))); got != "" {
		t.Errorf("with the issuer's certificate known: %q", got)
	}
	config.HTTP = egresstest.Local(t, is.URL)
	if got := code(t, verifier(t, config), key.sign(t, nil, is.claims(now, nil))); got != Unavailable {
		t.Errorf("with an unknown certificate: %q", got)
	}
}

func TestSmallRSAKeysAreRefused(t *testing.T) {
	for bits, want := range map[uint]bool{1024: false, minRSA - 1: false, minRSA: true, 4096: true} {
		key := &rsa.PublicKey{N: new(big.Int).Lsh(big.NewInt(1), bits-1), E: 65537}
		if got := canVerify(jose.JSONWebKey{Key: key}); got != want {
			t.Errorf("%d bits: usable is %t", bits, got)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	for _, p := range []pair{newEd(f, "ed"), newEC(f, "ec"), newRSA(f, "rsa", jose.RS256)} {
		public, err := p.public().MarshalJSON()
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(`{"keys":[` + string(public) + `,{"kty":"oct","k":"AA"},null]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		keys, err := parseKeys(body)
		for _, key := range keys {
			if err != nil || !key.IsPublic() {
				t.Errorf("key %q of %T, error %v", key.KeyID, key.Key, err)
			}
		}
	})
}

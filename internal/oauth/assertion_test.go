package oauth

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/go-jose/go-jose/v4"
)

// TestParseKeys reads key files of operators. What machines send is in the attacks of internal/login.
func TestParseKeys(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	inPEM := func(kind string, raw []byte, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw}))
	}
	inJSON := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	privatePEM, privateErr := x509.MarshalPKCS8PrivateKey(key)
	smallPEM, smallErr := x509.MarshalPKIXPublicKey(small.Public())
	one := jose.JSONWebKey{Key: key.Public(), KeyID: "a", Algorithm: "ES256", Use: "sig"}
	for name, c := range map[string]struct{ text, want string }{
		"PEM":             {inPEM("PUBLIC KEY", public, err), ""},
		"key":             {inJSON(one), ""},
		"set":             {inJSON(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{one}}), ""},
		"private PEM":     {inPEM("PRIVATE KEY", privatePEM, privateErr), "no PUBLIC KEY"},
		"private key":     {inJSON(jose.JSONWebKey{Key: key}), "no public key"},
		"secret":          {inJSON(jose.JSONWebKey{Key: []byte("secret")}), "no public key"},
		"short RSA":       {inPEM("PUBLIC KEY", smallPEM, smallErr), "no public key"},
		"for encryption":  {inJSON(jose.JSONWebKey{Key: key.Public(), Use: "enc"}), "no public key"},
		"empty set":       {`{"keys": []}`, "no public key"},
		"nothing":         {"", "neither PEM nor"},
		"another list":    {`[]`, "neither PEM nor"},
		"nonsense in PEM": {inPEM("PUBLIC KEY", []byte("x"), nil), "no PUBLIC KEY"},
	} {
		set, err := ParseKeys([]byte(c.text))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %s, %v; want %q", name, set, err, c.want)
			}
			continue
		}
		if keys, again := parseKeys(set); err != nil || again != nil || len(keys) != 1 || strings.Contains(string(set), `"d":`) {
			t.Errorf("%s: %s, %v, %v", name, set, err, again)
		}
	}
}

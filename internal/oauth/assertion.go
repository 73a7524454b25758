package oauth

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
)

// maxAssertion is the maximum time that an assertion is valid, from now.
const maxAssertion = time.Hour

// ParseKeys returns the public keys in a text, as a JSON Web Key Set: the text is a set, one key of a set, or a
// public key in PEM.
func ParseKeys(text []byte) (set []byte, err error) {
	var keys []jose.JSONWebKey
	block, _ := pem.Decode(text)
	var one jose.JSONWebKey
	switch {
	case block != nil:
		public, err := x509.ParsePKIXPublicKey(block.Bytes)
		if err != nil {
			return nil, errors.New("the PEM block is no PUBLIC KEY")
		}
		keys = []jose.JSONWebKey{{Key: public}}
	case one.UnmarshalJSON(text) == nil:
		keys = []jose.JSONWebKey{one}
	default:
		if keys, err = parseKeys(text); err != nil {
			return nil, errors.New("this is neither PEM nor a JSON Web Key Set")
		}
	}
	for _, key := range keys {
		if !canVerify(key) {
			keys = nil
		}
	}
	if len(keys) == 0 {
		return nil, errors.New("there is no public key for signatures; accepted: RSA from 2048 bits, P-256, Ed25519")
	}
	return json.Marshal(jose.JSONWebKeySet{Keys: keys})
}

// VerifyAssertion verifies a JWT that authenticates a client (RFC 7523), and returns the client and the expiry of
// the JWT. audiences are the names of the authorization server; keys returns the key set of a client. The error
// is an [*Error], or the error of keys.
func VerifyAssertion(assertion string, audiences []string, keys func(client string) (set []byte, err error)) (
	client string, expires time.Time, err error) {
	if len(assertion) > maxToken {
		return "", expires, invalid("the assertion is too long")
	}
	signed, err := jose.ParseSignedCompact(assertion, acceptedAlgorithms())
	if err != nil { // the cause may quote the assertion
		return "", expires, invalid("the assertion is not a JWT signed with an accepted algorithm")
	}
	c, err := parseClaims(signed.UnsafePayloadWithoutVerification())
	if err != nil {
		return "", expires, err
	}
	header := signed.Signatures[0].Protected
	_, critical := header.ExtraHeaders["crit"]
	if critical || c.Subject == "" || !isName(c.Subject) {
		return "", expires, invalid("the assertion names no client, or has critical extensions")
	}
	set, err := keys(c.Subject)
	if err != nil {
		return "", expires, err
	}
	if len(set) == 0 {
		return "", expires, invalid("the client has no key")
	}
	all, err := parseKeys(set)
	if err != nil {
		return "", expires, err
	}
	// A key in PEM has no id. Clients may write one into the header all the same.
	verified := false
	for _, key := range all {
		if (key.KeyID == "" || header.KeyID == "" || key.KeyID == header.KeyID) &&
			keyFits(key, jose.SignatureAlgorithm(header.Algorithm)) && !verified {
			_, err := signed.Verify(key.Key)
			verified = err == nil
		}
	}
	if !verified {
		return "", expires, invalid("the signature is not made with a key of the client")
	}
	here := &Verifier{Resource: &Resource{issuer: c.Subject}, audiences: audiences, now: time.Now}
	if err := here.checkClaims(c); err != nil {
		return "", expires, err
	}
	expires = c.Expires.time()
	if time.Until(expires) > maxAssertion {
		return "", expires, invalid("the assertion is valid for longer than an hour")
	}
	return c.Subject, expires, nil
}

// Package oauth lets callers in who bring an access token of an OAuth issuer.
// It is the resource server's half of OAuth 2.1 as the MCP authorization
// specification wants it: it verifies tokens, tells clients where to get one,
// and says which scope was missing.
//
// It knows JWTs, the issuer's published keys and how to find them, and which
// scopes open which profiles. It does not know what a profile allows, it
// issues nothing, it never passes a token on, and it never puts a token or a
// part of one into an error.
//
// Begin with Verifier.Verify; where the keys come from is in keyring.find.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// maxToken bounds a token before anything looks at it, in bytes. The
	// tokens of large issuers have 1 to 4 KB.
	maxToken = 16 << 10

	defaultLeeway = 30 * time.Second
	maxLeeway     = 5 * time.Minute
)

// Config says whose tokens count, and for what.
type Config struct {
	// Issuer is the issuer's URL, exactly as its tokens spell it.
	Issuer string
	// Audiences are the names under which tokens may be meant for us: the
	// canonical URL of the endpoint, or what the issuer uses in its place.
	Audiences []string
	// JWKSURL is where the issuer's keys are. Empty asks the issuer.
	JWKSURL string
	// Algorithms are the signatures that count. Empty means RS256, PS256,
	// ES256 and EdDSA.
	Algorithms []string
	// ScopeProfiles says which profiles a scope opens, or policy.AnyProfile. A token
	// none of whose scopes is here opens nothing.
	ScopeProfiles map[string][]string
	// BasicScopes are what a client is told to ask for at first. Empty means
	// every scope that opens a profile.
	BasicScopes []string
	// Leeway is by how much the issuer's clock may differ from ours. Zero
	// means 30 seconds.
	Leeway time.Duration
	// HTTP fetches the keys; nil means a client of our own. Redirects to
	// other origins are refused whatever it says.
	HTTP *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Grant is what a proven credential stands for.
type Grant struct {
	Subject   string   // its holder, never the same for two ways to prove oneself
	ID        string   // the token's own id, for logs; may be empty
	Agent     string   // the client that was authorized; may be empty
	User      string   // the person behind it; empty when a client acts for itself and says so
	Workspace string   // always empty: tokens do not choose directories
	Profiles  []string // those it may use, the first by default; policy.AnyProfile for all
	Scopes    []string // those that opened a profile, in order of name
	ExpiresAt time.Time
}

// A Verifier decides which tokens count. It is safe for concurrent use.
type Verifier struct {
	issuer     string
	audiences  []string
	algorithms []jose.SignatureAlgorithm
	profiles   map[string][]string
	basic      []string
	leeway     time.Duration
	now        func() time.Time
	keys       *keyring
}

// New checks the configuration, and reports all that is wrong with it at
// once. It asks the issuer for nothing yet. Close the Verifier when done.
func New(c Config) (*Verifier, error) {
	algorithms, err := c.algorithms()
	if err := errors.Join(err, c.checkURLs(), c.checkAudiences(), c.checkScopes(), c.checkLeeway()); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	v := &Verifier{
		issuer:     c.Issuer,
		audiences:  slices.Clone(c.Audiences),
		algorithms: algorithms,
		profiles:   maps.Clone(c.ScopeProfiles),
		basic:      slices.Clone(c.BasicScopes),
		leeway:     c.Leeway,
		now:        c.Now,
	}
	if len(v.basic) == 0 {
		v.basic = slices.Sorted(maps.Keys(v.profiles))
	}
	if v.leeway == 0 {
		v.leeway = defaultLeeway
	}
	if v.now == nil {
		v.now = time.Now
	}
	v.keys = newKeyring(newSource(c), v.now)
	return v, nil
}

// Close ends what the Verifier has under way. It accepts nothing new after.
func (v *Verifier) Close() { v.keys.close() }

// Verify returns what a token stands for. The error is an *Error, for
// Challenge to answer.
func (v *Verifier) Verify(ctx context.Context, bearer string) (Grant, error) {
	if len(bearer) > maxToken {
		return Grant{}, invalid("the token is too long")
	}
	signed, err := jose.ParseSignedCompact(bearer, v.algorithms)
	if err != nil {
		// The cause may quote the token, so it is not kept.
		return Grant{}, invalid("the token is not a JWT signed with an accepted algorithm")
	}
	payload, err := v.open(ctx, signed)
	if err != nil {
		return Grant{}, err
	}
	c, err := parseClaims(payload)
	if err != nil {
		return Grant{}, err
	}
	if err := v.checkClaims(c); err != nil {
		return Grant{}, err
	}
	return v.grant(c)
}

// open returns the payload if a key of the issuer has signed it. Keys that
// the token itself brings along or points to are ignored.
func (v *Verifier) open(ctx context.Context, signed *jose.JSONWebSignature) ([]byte, error) {
	header := signed.Signatures[0].Protected
	if !acceptedType(header) {
		return nil, invalid("the token is not an access token")
	}
	alg := jose.SignatureAlgorithm(header.Algorithm)
	keys, err := v.keys.find(ctx, header.KeyID, alg)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if payload, err := signed.Verify(key.Key); err == nil {
			return payload, nil
		}
	}
	return nil, invalid("the signature is wrong")
}

// acceptedType says whether the header may be an access token's. RFC 9068
// names at+jwt; many issuers say JWT, some nothing. What says to be anything
// else, such as a logout token, is not for us, nor is what demands that we
// understand an extension.
func acceptedType(h jose.Header) bool {
	if _, critical := h.ExtraHeaders["crit"]; critical {
		return false
	}
	typ, present := h.ExtraHeaders[jose.HeaderType]
	if !present {
		return true
	}
	text, _ := typ.(string)
	text = strings.TrimPrefix(strings.ToLower(text), "application/")
	return text == "at+jwt" || text == "jwt"
}

// grant says what verified claims stand for.
func (v *Verifier) grant(c claims) (Grant, error) {
	g := Grant{
		Subject:   "oauth:user:" + c.Subject,
		ID:        c.ID,
		Agent:     c.client(),
		User:      c.Subject,
		ExpiresAt: c.Expires.time().UTC(),
	}
	if c.Subject == "" {
		g.Subject = "oauth:client:" + c.client()
	}
	g.Scopes, g.Profiles = v.opened(c.scopes())
	if len(g.Profiles) == 0 {
		return Grant{}, &Error{Code: InsufficientScope, Why: "no scope of the token opens anything here", Scopes: v.basic}
	}
	return g, nil
}

// opened returns which of the scopes open profiles, in order of name, and
// the profiles, in the order that the configuration gives each scope's.
func (v *Verifier) opened(scopes []string) (used, profiles []string) {
	slices.Sort(scopes)
	for _, scope := range slices.Compact(scopes) {
		if len(v.profiles[scope]) == 0 {
			continue
		}
		used = append(used, scope)
		for _, profile := range v.profiles[scope] {
			if !slices.Contains(profiles, profile) {
				profiles = append(profiles, profile)
			}
		}
	}
	return used, profiles
}

// Package oauth authenticates callers by access tokens of an OAuth issuer. It implements the
// resource server of OAuth 2.1 as the MCP authorization specification requires: it verifies
// tokens, publishes the issuer for clients, and names the scope that a token lacks.
//
// The package knows JWTs, how to find the issuer's keys, and the profiles that scopes grant. It
// does not know the rights of a profile. It issues no tokens, passes none on, and puts no part
// of a token into an error.
//
// Begin with Verifier.Verify; keyring.find gets the keys. [Client] sends all requests to authorization servers, of this
// package and of others.
package oauth

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const (
	// maxToken is the maximum size of a token in bytes. The tokens of large
	// issuers have 1 to 4 KB.
	maxToken = 16 << 10

	// leeway is the allowed difference between the issuer's clock and ours.
	leeway = 30 * time.Second
)

// Config describes valid tokens and their rights.
type Config struct {
	// Issuer is the issuer's URL, exactly as its tokens spell it.
	Issuer string
	// Audiences are the audiences that this server accepts: the canonical URL
	// of the endpoint, or the name that the issuer uses for it.
	Audiences []string
	// ScopeProfiles maps scopes to the profiles that they grant, or to
	// policy.AnyProfile. A token without such a scope is refused.
	ScopeProfiles map[string][]string
	// HTTP fetches the keys, over package api. Redirects to other origins are refused.
	HTTP outbound.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// A Grant is the identity and the rights of a verified token.
type Grant struct {
	Subject   string   // the holder; unique over all authentication methods
	ID        string   // the token's own id, for logs; may be empty
	Agent     string   // the client that was authorized; may be empty
	User      string   // the person; empty if a client acts for itself
	Workspace string   // always empty: tokens do not choose directories
	Profiles  []string // allowed profiles, the first is the default; policy.AnyProfile for all
	Scopes    []string // the scopes that granted a profile, sorted
	ExpiresAt time.Time
}

// A Verifier verifies tokens. It is safe for concurrent use.
type Verifier struct {
	*Resource
	audiences []string
	now       func() time.Time
	keys      *keyring
}

// New checks the configuration and reports all mistakes at once. It sends no
// request yet. Close the Verifier when done.
func New(c Config) (*Verifier, error) {
	if err := errors.Join(c.checkIssuer(), c.checkAudiences(), c.checkScopes()); err != nil {
		return nil, fmt.Errorf("oauth: %w", err)
	}
	if c.HTTP == nil {
		return nil, errors.New("oauth: no client fetches the keys")
	}
	v := &Verifier{
		Resource:  NewResource(c.Issuer, c.ScopeProfiles),
		audiences: slices.Clone(c.Audiences),
		now:       c.Now,
	}
	if v.now == nil {
		v.now = time.Now
	}
	v.keys = newKeyring(newSource(c), v.now)
	return v, nil
}

// Close ends running requests. The Verifier fetches no keys afterwards.
func (v *Verifier) Close() { v.keys.close() }

// Verify returns the grant of a token. The error is an *Error; see Challenge.
func (v *Verifier) Verify(ctx context.Context, bearer string) (Grant, error) {
	if len(bearer) > maxToken {
		return Grant{}, invalid("the token is too long")
	}
	signed, err := jose.ParseSignedCompact(bearer, acceptedAlgorithms())
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

// open returns the payload if it is signed with a key of the issuer. Keys that
// the token contains or names by URL are ignored.
func (v *Verifier) open(ctx context.Context, signed *jose.JSONWebSignature) ([]byte, error) {
	header := signed.Signatures[0].Protected
	if !isAccessToken(header) {
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

// isAccessToken reports whether the header may belong to an access token. RFC 9068 requires the
// type at+jwt; many issuers write JWT, some nothing. Other types, such as logout tokens, and
// critical extensions are refused.
func isAccessToken(h jose.Header) bool {
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

// grant returns the grant of verified claims.
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
	g.Scopes, g.Profiles = v.grantedProfiles(c.scopes())
	if len(g.Profiles) == 0 {
		return Grant{}, &Error{Code: InsufficientScope, Why: "no scope of the token grants a profile", Scopes: v.scopes}
	}
	return g, nil
}

// grantedProfiles returns the scopes that grant profiles, sorted, and the
// profiles, in the order of the configuration.
func (v *Verifier) grantedProfiles(scopes []string) (used, profiles []string) {
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

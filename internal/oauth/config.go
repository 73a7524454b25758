package oauth

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"

	"github.com/mcp-tools/mcp-tools/internal/netaddr"
)

// acceptedAlgorithms returns the accepted signature algorithms: only those with a
// public key for verification. With an HMAC every verifier can sign, and an
// attacker could use a public key as the secret.
func acceptedAlgorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.EdDSA}
}

// Algorithms returns the names of the accepted signature algorithms.
func Algorithms() (names []string) {
	for _, alg := range acceptedAlgorithms() {
		names = append(names, string(alg))
	}
	return names
}

func (c Config) checkIssuer() error {
	issuer, err := c.parseURL(c.Issuer)
	switch {
	case err != nil:
		return fmt.Errorf("issuer %q: %w", c.Issuer, err)
	case issuer.RawQuery != "" || issuer.ForceQuery:
		return fmt.Errorf("issuer %q has a query", c.Issuer)
	}
	return nil
}

// parseURL parses a URL of keys or metadata. It must use https, because with a replaced key an
// attacker can sign as the issuer. Plain http is allowed only for a loopback address, and only
// if the issuer has one too.
func (c Config) parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("not a URL")
	case u.Host == "" || u.User != nil || u.Fragment != "":
		return nil, errors.New("want https://host/path, without a user and a fragment")
	case u.Scheme == "https":
		return u, nil
	case u.Scheme == "http" && isLoopback(u) && c.issuerIsLocal():
		return u, nil
	}
	return nil, errors.New("want https; plain http is for an issuer on this machine")
}

// issuerIsLocal reports whether the issuer is on this machine.
func (c Config) issuerIsLocal() bool {
	u, err := url.Parse(c.Issuer)
	return err == nil && isLoopback(u)
}

// isLoopback reports whether the host of u is localhost or a loopback address.
// Names below localhost are not accepted: DNS may resolve them to other hosts.
func isLoopback(u *url.URL) bool {
	return netaddr.IsLoopback(u.Hostname()) && !strings.HasSuffix(u.Hostname(), ".localhost")
}

func (c Config) checkAudiences() error {
	if len(c.Audiences) == 0 {
		return errors.New("no audience is set, so tokens for other servers would be accepted")
	}
	for _, audience := range c.Audiences {
		if strings.TrimSpace(audience) != audience || audience == "" {
			return fmt.Errorf("audience %q is empty or has space around it", audience)
		}
	}
	return nil
}

func (c Config) checkScopes() error {
	if len(c.ScopeProfiles) == 0 {
		return errors.New("no scope grants a profile, so every token would be refused")
	}
	for scope, profiles := range c.ScopeProfiles {
		switch {
		case !isScope(scope):
			return fmt.Errorf("scope %q is empty or has characters that a scope cannot have", scope)
		case scope == "offline_access":
			return errors.New(`scope "offline_access" is between client and issuer and cannot grant a profile`)
		case len(profiles) == 0 || slices.Contains(profiles, ""):
			return fmt.Errorf("scope %q grants no profile, or one without a name", scope)
		}
	}
	return nil
}

// isScope reports whether text is a scope-token of RFC 6749.
func isScope(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return r <= ' ' || r > '~' || r == '"' || r == '\\'
	})
}

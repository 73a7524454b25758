package oauth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	maxKeys      = 100 // in a key set
	maxRedirects = 3
)

// A source fetches the issuer's keys. It is used by one goroutine at a time.
type source struct {
	config     Config
	client     *http.Client
	discovered string // the URL of the keys that discovery returned
}

func newSource(c Config) *source {
	client := Client(c.HTTP)
	client.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		first := via[0].URL
		switch {
		case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host:
			return errors.New("it redirects to another origin")
		case len(via) > maxRedirects:
			return errors.New("it redirects too often")
		}
		return nil
	}
	return &source{config: c, client: client}
}

// keys fetches the issuer's keys for signatures. An issuer may have none.
func (s *source) keys(ctx context.Context) ([]jose.JSONWebKey, error) {
	address, err := s.locate(ctx)
	if err != nil {
		return nil, err
	}
	body, err := s.get(ctx, address)
	if err != nil {
		s.discovered = "" // the keys may have moved
		return nil, fmt.Errorf("fetching the issuer's keys: %w", err)
	}
	keys, err := parseKeys(body)
	if err != nil {
		return nil, fmt.Errorf("reading the issuer's keys from %s: %w", address, err)
	}
	return keys, nil
}

// locate returns the URL of the issuer's keys. It discovers the URL once.
func (s *source) locate(ctx context.Context) (string, error) {
	if s.discovered != "" {
		return s.discovered, nil
	}
	var failures []error
	for _, address := range wellKnown(s.config.Issuer) {
		keys, err := s.discover(ctx, address)
		if err == nil {
			s.discovered = keys
			return keys, nil
		}
		failures = append(failures, fmt.Errorf("%s: %w", address, err))
	}
	return "", fmt.Errorf("discovering the issuer: %w", errors.Join(failures...))
}

// discover returns the URL of the keys in the issuer's metadata at address.
func (s *source) discover(ctx context.Context, address string) (string, error) {
	body, err := s.get(ctx, address)
	if err != nil {
		return "", err
	}
	var metadata struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := json.Unmarshal(body, &metadata); err != nil {
		return "", fmt.Errorf("reading the metadata: %w", err)
	}
	if metadata.Issuer != s.config.Issuer {
		return "", fmt.Errorf("the metadata is of issuer %q, not of %q", metadata.Issuer, s.config.Issuer)
	}
	if _, err := s.config.parseURL(metadata.JWKSURI); err != nil {
		return "", fmt.Errorf("jwks_uri %q: %w", metadata.JWKSURI, err)
	}
	return metadata.JWKSURI, nil
}

// wellKnown returns the possible URLs of an issuer's metadata, in the order of MCP clients. RFC
// 8414 puts the well-known part between host and path, OpenID Connect puts it at the end.
func wellKnown(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	origin := u.Scheme + "://" + u.Host
	addresses := []string{
		origin + "/.well-known/oauth-authorization-server" + path,
		origin + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		addresses = append(addresses, origin+path+"/.well-known/openid-configuration")
	}
	return addresses
}

// get fetches a JSON document.
func (s *source) get(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := s.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the response is %q", res.Status)
	}
	return io.ReadAll(res.Body)
}

// parseKeys returns the keys of a set that can verify signatures. It skips
// others: issuers publish keys for many purposes.
func parseKeys(body []byte) ([]jose.JSONWebKey, error) {
	var set struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := json.Unmarshal(body, &set); err != nil {
		return nil, err
	}
	if set.Keys == nil {
		return nil, errors.New(`the key set has no list of "keys"`)
	}
	if len(set.Keys) > maxKeys {
		return nil, fmt.Errorf("the key set has %d keys, the maximum is %d", len(set.Keys), maxKeys)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var key jose.JSONWebKey
		if err := key.UnmarshalJSON(text); err == nil && canVerify(key) {
			keys = append(keys, key)
		}
	}
	return keys, nil
}

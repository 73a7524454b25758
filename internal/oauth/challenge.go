package oauth

import (
	"errors"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/policy"
)

// A Code is the kind of an [Error]. The first two are from RFC 6750.
type Code string

const (
	InvalidToken      Code = "invalid_token"      // the client needs another token
	InsufficientScope Code = "insufficient_scope" // the client needs a token with one of the scopes
	Unavailable       Code = "unavailable"        // the token may be valid, but the issuer's keys cannot be fetched
)

// An Error is the reason why a token was refused. Its text has no part of the
// token.
type Error struct {
	Code   Code
	Why    string   // a fixed sentence, safe to send to clients
	Scopes []string // the scopes to request
	cause  error    // for the log
}

func (e *Error) Error() string {
	if e.cause != nil {
		return string(e.Code) + ": " + e.Why + ": " + e.cause.Error()
	}
	return string(e.Code) + ": " + e.Why
}

func (e *Error) Unwrap() error { return e.cause }

func invalid(why string) *Error { return &Error{Code: InvalidToken, Why: why} }

func unavailable(cause error) *Error {
	return &Error{Code: Unavailable, Why: "the issuer's keys cannot be fetched now", cause: cause}
}

// A Resource is what clients are told about how they get a token: the issuer, and the scopes with the
// profiles that each grants.
type Resource struct {
	issuer   string
	profiles map[string][]string
	scopes   []string // that grant profiles, sorted
}

// NewResource returns the Resource of an issuer.
func NewResource(issuer string, scopeProfiles map[string][]string) *Resource {
	return &Resource{issuer, maps.Clone(scopeProfiles), slices.Sorted(maps.Keys(scopeProfiles))}
}

// NeedProfile returns the error for a valid token that does not grant profile.
// It names the scope that grants the profile and the fewest others, or no scope
// if none grants it.
func (r *Resource) NeedProfile(profile string) *Error {
	e := &Error{Code: InsufficientScope, Why: "the token does not grant this profile"}
	least := 0
	for _, scope := range r.scopes {
		n := profileCount(r.profiles[scope], profile)
		if n > 0 && (least == 0 || n < least) {
			least = n
			e.Scopes = []string{scope}
		}
	}
	return e
}

// For returns the Resource for clients that want one profile: with the scope that [Resource.NeedProfile] names. Without such
// a scope it returns r.
func (r *Resource) For(profile string) *Resource {
	need := r.NeedProfile(profile).Scopes
	if len(need) == 0 {
		return r
	}
	return NewResource(r.issuer, map[string][]string{need[0]: r.profiles[need[0]]})
}

// profileCount returns how many profiles a scope grants, or 0 if profile one is
// not among them.
func profileCount(profiles []string, one string) int {
	switch {
	case slices.Contains(profiles, policy.AnyProfile):
		return math.MaxInt
	case slices.Contains(profiles, one):
		return len(profiles)
	}
	return 0
}

// Challenge returns the HTTP response to a request that was refused with err:
// the status, and the value of WWW-Authenticate, which may be empty. A nil err
// means a request without a token; an err that is not an *Error means an
// invalid token. resourceMetadata is the URL of the metadata; it is left out if
// a header cannot contain it.
//
// If the issuer's keys cannot be fetched the status is 503 without a challenge,
// because a 401 makes clients discard valid tokens.
func (r *Resource) Challenge(err error, resourceMetadata string) (status int, header string) {
	var e *Error
	switch {
	case err == nil:
		return http.StatusUnauthorized, challenge(&Error{Scopes: r.scopes}, resourceMetadata)
	case !errors.As(err, &e):
		e = &Error{Code: InvalidToken, Scopes: r.scopes}
	}
	switch e.Code {
	case Unavailable:
		return http.StatusServiceUnavailable, ""
	case InsufficientScope:
		return http.StatusForbidden, challenge(e, resourceMetadata)
	}
	refused := &Error{Code: InvalidToken, Why: e.Why, Scopes: r.scopes}
	return http.StatusUnauthorized, challenge(refused, resourceMetadata)
}

// challenge returns the header of RFC 6750 and RFC 9728.
func challenge(e *Error, resourceMetadata string) string {
	parameters := []struct{ name, value string }{
		{"error", string(e.Code)},
		{"error_description", e.Why},
		{"scope", strings.Join(e.Scopes, " ")},
		{"resource_metadata", resourceMetadata},
	}
	var parts []string
	for _, p := range parameters {
		if p.value != "" && isQuotable(p.value) {
			parts = append(parts, p.name+`="`+p.value+`"`)
		}
	}
	return strings.TrimSuffix("Bearer "+strings.Join(parts, ", "), " ")
}

// isQuotable reports whether text needs no escapes in a quoted string.
func isQuotable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' || r == '\\'
	})
}

// ResourceMetadata describes where clients get a token for a resource, as RFC
// 9728 defines it. It is served as JSON.
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
}

// Metadata returns the metadata of the resource with the given URL. It names all
// scopes that grant a profile.
func (r *Resource) Metadata(resource string) ResourceMetadata {
	return ResourceMetadata{
		Resource:             resource,
		AuthorizationServers: []string{r.issuer},
		ScopesSupported:      slices.Clone(r.scopes),
		BearerMethods:        []string{"header"},
	}
}

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

// A Code says in one word why a token did not open the door. The first two
// are those of RFC 6750.
type Code string

const (
	InvalidToken      Code = "invalid_token"      // bring another token
	InsufficientScope Code = "insufficient_scope" // bring a token with one of the scopes
	Unavailable       Code = "unavailable"        // the token may be good; the issuer's keys cannot be had
)

// An Error says why a token did not open the door. Its text has no part of
// the token.
type Error struct {
	Code   Code
	Why    string   // a fixed sentence that anybody may read
	Scopes []string // what to ask the issuer for
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
	return &Error{Code: Unavailable, Why: "the issuer's keys cannot be had now", cause: cause}
}

// NeedProfile is the error for a good token that does not open profile. It
// asks for the scope that opens it and the least besides. A profile that no
// scope opens is one that tokens cannot reach, so it asks for nothing.
func (v *Verifier) NeedProfile(profile string) *Error {
	e := &Error{Code: InsufficientScope, Why: "the token does not open this profile"}
	least := 0
	for _, scope := range slices.Sorted(maps.Keys(v.profiles)) {
		n := breadth(v.profiles[scope], profile)
		if n > 0 && (least == 0 || n < least) {
			least = n
			e.Scopes = []string{scope}
		}
	}
	return e
}

// breadth says how much is opened by profiles that open the one: 0 if they
// do not.
func breadth(profiles []string, one string) int {
	switch {
	case slices.Contains(profiles, policy.AnyProfile):
		return math.MaxInt
	case slices.Contains(profiles, one):
		return len(profiles)
	}
	return 0
}

// Challenge returns how HTTP answers a request that err kept outside: the
// status, and the value of WWW-Authenticate, which may be empty. A nil err
// is a request without any token; an error of another origin is a token that
// does not count. The URL is where Metadata is served; it is left out when
// it has no place in a header.
//
// When the issuer's keys cannot be had the answer is 503 and no challenge:
// 401 would make clients throw good tokens away.
func (v *Verifier) Challenge(err error, resourceMetadata string) (status int, header string) {
	var e *Error
	switch {
	case err == nil:
		return http.StatusUnauthorized, challenge(&Error{Scopes: v.basic}, resourceMetadata)
	case !errors.As(err, &e):
		e = &Error{Code: InvalidToken, Scopes: v.basic}
	}
	switch e.Code {
	case Unavailable:
		return http.StatusServiceUnavailable, ""
	case InsufficientScope:
		return http.StatusForbidden, challenge(e, resourceMetadata)
	}
	return http.StatusUnauthorized, challenge(&Error{Code: InvalidToken, Why: e.Why, Scopes: v.basic}, resourceMetadata)
}

// challenge writes the header of RFC 6750 and RFC 9728.
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

// isQuotable says whether text can stand between quotes as it is.
func isQuotable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' || r == '\\'
	})
}

// ResourceMetadata tells clients where to get a token for a resource, as RFC
// 9728 wants it. It is to be served as JSON.
type ResourceMetadata struct {
	Resource             string   `json:"resource"`
	AuthorizationServers []string `json:"authorization_servers"`
	ScopesSupported      []string `json:"scopes_supported"`
	BearerMethods        []string `json:"bearer_methods_supported"`
}

// Metadata describes the resource with the given URL. Of the scopes it names
// the basic ones; challenges ask for others when they are needed.
func (v *Verifier) Metadata(resource string) ResourceMetadata {
	return ResourceMetadata{
		Resource:             resource,
		AuthorizationServers: []string{v.issuer},
		ScopesSupported:      slices.Clone(v.basic),
		BearerMethods:        []string{"header"},
	}
}

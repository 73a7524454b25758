package oauth

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxName is the maximum length of names in a token, in bytes. They are used in
// logs and file names.
const maxName = 256

// claims are the claims of a token that this package uses.
type claims struct {
	Issuer    string         `json:"iss"`
	Subject   string         `json:"sub"`
	Audience  oneOrMany      `json:"aud"`
	Expires   *date          `json:"exp"`
	NotBefore *date          `json:"nbf"`
	IssuedAt  *date          `json:"iat"`
	ID        string         `json:"jti"`
	ClientID  string         `json:"client_id"`
	Party     string         `json:"azp"`   // the client in OpenID Connect
	Scope     oneOrMany      `json:"scope"` // one string with spaces, as in RFC 9068
	Scp       oneOrMany      `json:"scp"`   // used by other issuers; may be a list
	Confirm   jsontext.Value `json:"cnf"`
}

// parseClaims decodes claims. Names are case-sensitive, and duplicates are an
// error, so that no two programs read a token differently.
func parseClaims(payload []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return claims{}, invalid("the claims cannot be decoded") // the cause may quote them
	}
	return c, nil
}

// client returns the client that was authorized.
func (c claims) client() string {
	if c.ClientID != "" {
		return c.ClientID
	}
	return c.Party
}

func (c claims) scopes() []string {
	var all []string
	for _, claim := range slices.Concat(c.Scope, c.Scp) {
		all = append(all, strings.Fields(claim)...)
	}
	return all
}

// checkClaims checks the issuer, the audience, the dates and the subject.
func (v *Verifier) checkClaims(c claims) error {
	isOurs := func(audience string) bool { return slices.Contains(v.audiences, audience) }
	switch {
	case c.Issuer != v.issuer:
		return invalid("the token is of another issuer")
	case !slices.ContainsFunc(c.Audience, isOurs):
		return invalid("the token is for another audience")
	case len(c.Confirm) > 0:
		// The token is bound to a key: a bearer cannot prove to have it.
		return invalid("the token is not a bearer token")
	case c.Subject == "" && c.client() == "":
		return invalid("the token names neither a subject nor a client")
	case !isName(c.Subject) || !isName(c.client()) || !isName(c.ID):
		return invalid("the token has a name that is too long or has control characters")
	}
	return v.checkTimes(c)
}

func (v *Verifier) checkTimes(c claims) error {
	for _, d := range []*date{c.Expires, c.NotBefore, c.IssuedAt} {
		if d != nil && !d.valid() {
			return invalid("the token has an invalid date")
		}
	}
	now := v.now()
	soon := now.Add(leeway)
	switch {
	case c.Expires == nil:
		return invalid("the token does not say when it expires")
	case !now.Before(c.Expires.time().Add(leeway)):
		return invalid("the token has expired")
	case c.NotBefore != nil && soon.Before(c.NotBefore.time()):
		return invalid("the token is not valid yet")
	case c.IssuedAt != nil && soon.Before(c.IssuedAt.time()):
		return invalid("the token was issued in the future")
	case c.IssuedAt != nil && c.Expires.time().Before(c.IssuedAt.time()):
		return invalid("the token expired before it was issued")
	}
	return nil
}

// A date is a NumericDate: seconds since 1970.
type date float64

// valid reports whether the date is between 1970 and 9999.
func (d date) valid() bool { return d >= 0 && d < 253402300800 }

func (d date) time() time.Time { return time.Unix(int64(d), 0) }

// oneOrMany is a claim that may be a string or a list of strings.
type oneOrMany []string

func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	if jsontext.Value(text).Kind() != '"' {
		return json.Unmarshal(text, (*[]string)(o))
	}
	*o = oneOrMany{""}
	return json.Unmarshal(text, &(*o)[0])
}

// isName reports whether text is a valid name. It may be empty.
func isName(text string) bool {
	return len(text) <= maxName && !strings.ContainsFunc(text, unicode.IsControl)
}

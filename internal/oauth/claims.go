package oauth

import (
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// maxWord bounds names in a token, in bytes: they go to logs and file names.
const maxWord = 256

// claims are what a token says, as far as it matters here.
type claims struct {
	Issuer    string         `json:"iss"`
	Subject   string         `json:"sub"`
	Audience  oneOrMany      `json:"aud"`
	Expires   *date          `json:"exp"`
	NotBefore *date          `json:"nbf"`
	IssuedAt  *date          `json:"iat"`
	ID        string         `json:"jti"`
	ClientID  string         `json:"client_id"`
	Party     string         `json:"azp"`   // what OpenID Connect calls the client
	Scope     oneOrMany      `json:"scope"` // one string with spaces, as in RFC 9068
	Scp       oneOrMany      `json:"scp"`   // the same for other issuers, or a list
	Confirm   jsontext.Value `json:"cnf"`
}

// parseClaims is strict where two readers could differ: names are
// case-sensitive, and none may come twice.
func parseClaims(payload []byte) (claims, error) {
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return claims{}, invalid("the claims cannot be understood") // the cause may quote them
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

// checkClaims says whether the token is the issuer's, for us, for now, and
// somebody's.
func (v *Verifier) checkClaims(c claims) error {
	isOurs := func(audience string) bool { return slices.Contains(v.audiences, audience) }
	switch {
	case c.Issuer != v.issuer:
		return invalid("the token is of another issuer")
	case !slices.ContainsFunc(c.Audience, isOurs):
		return invalid("the token is for another audience")
	case len(c.Confirm) > 0:
		// Bound to a key whose possession a bearer cannot show.
		return invalid("the token is not a bearer token")
	case c.Subject == "" && c.client() == "":
		return invalid("the token names neither a subject nor a client")
	case !isWord(c.Subject) || !isWord(c.client()) || !isWord(c.ID):
		return invalid("the token has a name that is too long or has control characters")
	}
	return v.checkTimes(c)
}

func (v *Verifier) checkTimes(c claims) error {
	for _, d := range []*date{c.Expires, c.NotBefore, c.IssuedAt} {
		if d != nil && !d.sane() {
			return invalid("the token has a date that is none")
		}
	}
	now := v.now()
	soon := now.Add(v.leeway)
	switch {
	case c.Expires == nil:
		return invalid("the token does not say when it expires")
	case !now.Before(c.Expires.time().Add(v.leeway)):
		return invalid("the token has expired")
	case c.NotBefore != nil && soon.Before(c.NotBefore.time()):
		return invalid("the token is not valid yet")
	case c.IssuedAt != nil && soon.Before(c.IssuedAt.time()):
		return invalid("the token comes from the future")
	case c.IssuedAt != nil && c.Expires.time().Before(c.IssuedAt.time()):
		return invalid("the token expired before it was issued")
	}
	return nil
}

// A date is a NumericDate: seconds since 1970.
type date float64

// sane says whether the date lies between 1970 and 9999.
func (d date) sane() bool { return d >= 0 && d < 253402300800 }

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

// isWord says whether text can be somebody's name. It may be empty.
func isWord(text string) bool {
	return len(text) <= maxWord && !strings.ContainsFunc(text, unicode.IsControl)
}

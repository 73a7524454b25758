package tokens

import (
	"slices"
	"time"
)

// A Token is the row of one token, without the secret itself. Times are in UTC;
// the zero time means never.
type Token struct {
	Hash      string   `json:"-"` // of the secret, in hexadecimal
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	Profiles  []string `json:"profiles,omitzero"`
	Approve   bool     `json:"approve,omitzero"` // for approvals of calls; the token cannot make calls
	Agent     string   `json:"agent,omitzero"`
	User      string   `json:"user,omitzero"`
	Workspace string   `json:"workspace,omitzero"`
	Place
	Structured bool      `json:"structured,omitzero"`
	Created    time.Time `json:"created"`
	Expires    time.Time `json:"expires,omitzero"`
	LastUsed   time.Time `json:"last_used,omitzero"` // with a resolution of about a minute
	Revoked    time.Time `json:"revoked,omitzero"`
}

// A Place is where the calls of a token come from. Empty fields are open: each request
// may name its own.
type Place struct {
	Provider string `json:"provider,omitzero"` // of the model
	Chat     string `json:"chat,omitzero"`
	PeerKind string `json:"peer_kind,omitzero"` // direct or group
	Topic    string `json:"topic,omitzero"`
}

// A Grant is the identity and the rights of a token.
type Grant struct {
	Subject   string // the holder; unique over all authentication methods
	ID        string // id of the token, for logs; not secret
	Agent     string
	User      string
	Workspace string // empty for the server's own
	Place
	Structured bool      // results have structured content
	Profiles   []string  // allowed profiles, the first is the default; policy.AnyProfile for all
	Approve    bool      // for approvals of calls; the token cannot make calls
	Scopes     []string  // always empty: tokens have profiles
	ExpiresAt  time.Time // zero for never
}

// Grant returns the grant of the token.
func (r Token) Grant() Grant {
	return Grant{
		Subject:    "token:" + r.ID,
		ID:         r.ID,
		Agent:      r.Agent,
		User:       r.User,
		Workspace:  r.Workspace,
		Place:      r.Place,
		Structured: r.Structured,
		Profiles:   slices.Clone(r.Profiles),
		Approve:    r.Approve,
		ExpiresAt:  r.Expires,
	}
}

// State is "active", "revoked" or "expired".
func (r Token) State(now time.Time) string {
	switch {
	case !r.Revoked.IsZero():
		return "revoked"
	case r.expired(now):
		return "expired"
	}
	return "active"
}

func (r Token) expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

func (r Token) clone() Token {
	r.Profiles = slices.Clone(r.Profiles)
	return r
}

// valid reports whether the token is either for calls or for approvals.
func (r Token) valid() bool { return r.Approve == (len(r.Profiles) == 0) }

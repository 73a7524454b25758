package tokens

import (
	"slices"
	"time"
)

// A Token is what the table has of one token: not the secret itself. Times are
// in UTC; the zero time means never.
type Token struct {
	Hash      string    `json:"-"` // of the secret, in hexadecimal
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Profiles  []string  `json:"profiles,omitzero"`
	Approve   bool      `json:"approve,omitzero"` // it decides about others' calls, and makes none
	Agent     string    `json:"agent,omitzero"`
	User      string    `json:"user,omitzero"`
	Workspace string    `json:"workspace,omitzero"`
	Created   time.Time `json:"created"`
	Expires   time.Time `json:"expires,omitzero"`
	LastUsed  time.Time `json:"last_used,omitzero"` // to the minute or so
	Revoked   time.Time `json:"revoked,omitzero"`
}

// A Grant is what a proven credential stands for.
type Grant struct {
	Subject   string // its holder, never the same for two ways to prove oneself
	ID        string // the credential, for logs; not secret
	Agent     string
	User      string
	Workspace string    // empty for the server's own
	Profiles  []string  // those it may use, the first by default; policy.AnyProfile for all
	Approve   bool      // it decides about others' calls, and makes none
	Scopes    []string  // always none: our own tokens carry profiles
	ExpiresAt time.Time // zero for never
}

// Grant says what the token stands for.
func (r Token) Grant() Grant {
	return Grant{
		Subject:   "token:" + r.ID,
		ID:        r.ID,
		Agent:     r.Agent,
		User:      r.User,
		Workspace: r.Workspace,
		Profiles:  slices.Clone(r.Profiles),
		Approve:   r.Approve,
		ExpiresAt: r.Expires,
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

// valid reports whether the token either calls or decides.
func (r Token) valid() bool { return r.Approve == (len(r.Profiles) == 0) }

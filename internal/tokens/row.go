package tokens

import (
	"slices"
	"time"
)

// A Row is what the table knows about one token. Times are in UTC; the zero
// time means never. It has no hash, so it can be shown.
type Row struct {
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

// rowOf is a row as it can be shown.
func rowOf(k Kept) Row {
	return Row{
		ID: k.ID, Name: k.Name, Profiles: k.Profiles, Approve: k.Approve, Agent: k.Agent, User: k.User, Workspace: k.Workspace,
		Created: k.Created.UTC(), Expires: k.Expires.UTC(), LastUsed: k.Used.UTC(), Revoked: k.Revoked.UTC(),
	}
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
func (r Row) Grant() Grant {
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
func (r Row) State(now time.Time) string {
	switch {
	case !r.Revoked.IsZero():
		return "revoked"
	case r.expired(now):
		return "expired"
	}
	return "active"
}

func (r Row) expired(now time.Time) bool { return !r.Expires.IsZero() && !now.Before(r.Expires) }

func (r Row) clone() Row {
	r.Profiles = slices.Clone(r.Profiles)
	return r
}

// sound reports whether the token either calls or decides.
func (r Row) sound() bool { return r.Approve == (len(r.Profiles) == 0) }

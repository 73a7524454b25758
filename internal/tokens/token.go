package tokens

import (
	"slices"
	"time"
)

// A Token is the row of one token, without the secret itself. Times are in UTC;
// the zero time means never.
type Token struct {
	Hash string `json:"-"`    // of the secret, in hexadecimal
	ID   string `json:"id"`   // not secret
	Name string `json:"name"` // to be shown; the id if it was created with none
	// Profiles are the profiles that calls may use, the first by default; policy.AnyProfile
	// stands for all.
	Profiles  []string `json:"profiles,omitzero"`
	Approve   bool     `json:"approve,omitzero"`   // for approvals of calls; the token cannot make calls
	Agent     string   `json:"agent,omitzero"`     // key of the agent
	User      string   `json:"user,omitzero"`      // the user
	Workspace string   `json:"workspace,omitzero"` // directory of the calls; empty for the server's
	Place
	Structured bool      `json:"structured,omitzero"` // results have structured content
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

// Subject returns the holder, unique over all authentication methods.
func (r Token) Subject() string { return "token:" + r.ID }

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

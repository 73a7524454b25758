package server

import (
	"context"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// Access is what a door has found out about a caller: who it is, and by what
// it may be narrowed. Nothing that the caller sends later can widen it.
type Access struct {
	Caller    tool.Caller
	Narrow    policy.Narrow
	Transport string // "stdio", "http", "sse" or "cli"; for the audit log
	Token     string // names the token that was shown; binds sessions to it
	Identity  string // whoever it is, over all of its sessions; "" where there is one session
}

func (a Access) subject() policy.Subject {
	c := a.Caller
	return policy.Subject{
		Profile: c.Profile, Agent: c.Agent, Provider: c.Provider, Group: c.ChatID,
		Depth: c.Depth, Leaf: c.Leaf, Narrow: a.Narrow,
	}
}

// within is a with more given up. Two narrowings that both name tools make a
// list of those that pass both.
func (s *Server) within(a Access, more policy.Narrow) Access {
	switch {
	case more.Empty():
		return a
	case a.Narrow.Empty():
		a.Narrow = more
		return a
	}
	now, other := s.settings(), a
	other.Narrow = more
	both := policy.Narrow{Tools: []string{}, ReadOnly: a.Narrow.ReadOnly || more.ReadOnly}
	for _, t := range s.ordered {
		if now.Policy.Verdict(a.subject(), t.Spec.Name) != policy.Deny && now.Policy.Verdict(other.subject(), t.Spec.Name) != policy.Deny {
			both.Tools = append(both.Tools, t.Spec.Name)
		}
	}
	a.Narrow = both
	return a
}

// An Identity is what a bearer token proves.
type Identity struct {
	ID        string // of the token or grant, for the log; never the token
	Agent     string
	User      string
	Workspace string
	Approves  bool     // it answers what others' calls are asked about, and makes none itself
	Profiles  []string // that it may use, the first by default; policy.AnyProfile opens all
}

// mayUse reports whether the identity opens profile.
func (i Identity) mayUse(profile string) bool {
	return slices.Contains(i.Profiles, profile) || slices.Contains(i.Profiles, policy.AnyProfile)
}

// usual is the profile for a request that names none; "" is the operator's.
func (i Identity) usual() string {
	if len(i.Profiles) == 0 || i.Profiles[0] == policy.AnyProfile {
		return ""
	}
	return i.Profiles[0]
}

// Identities proves bearer tokens.
type Identities interface {
	// Identify returns whose token it is, or a *Challenge. Every other error
	// means that it could not be found out: it lets nobody in, for now.
	Identify(ctx context.Context, token string) (Identity, error)
	// Challenge is the answer to a request without a token.
	Challenge() *Challenge
	// Forbidden is the answer to a good token that does not open profile.
	Forbidden(profile string) *Challenge
	// Metadata is the OAuth protected-resource document, nil without OAuth.
	Metadata() []byte
}

// A Challenge is a refusal that tells the client how to be let in.
type Challenge struct {
	Status int    // 401 or 403; 503 where nobody knows
	Header string // of WWW-Authenticate
	Reason string // what is said to the client; the same for every token that is not good
	Cause  error  // for the log, where there is more to say than the client may hear
}

func (c *Challenge) Error() string { return c.Reason }

// why is what the log says of it.
func (c *Challenge) why() string {
	if c.Cause != nil {
		return c.Cause.Error()
	}
	return c.Reason
}

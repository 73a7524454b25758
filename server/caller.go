package server

import (
	"context"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// Access is what a transport knows about a caller: its identity, and how it is
// narrowed. Nothing that the caller sends later can widen it.
type Access struct {
	Caller    tool.Caller
	Narrow    policy.Narrow
	Transport string // "stdio", "http", "sse" or "cli"; for the audit log
	Token     string // id of the token; sessions are bound to it
	Identity  string // the same for all sessions of a caller; "" if there is one session
}

func (a Access) subject() policy.Subject {
	c := a.Caller
	return policy.Subject{
		Profile: c.Profile, Agent: c.Agent, Provider: c.Provider, Group: c.ChatID,
		Depth: c.Depth, Leaf: c.Leaf, Narrow: a.Narrow,
	}
}

// within returns a, narrowed by more. Of two narrowings that both name tools it
// makes a list of the tools that pass both.
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
		if now.Policy.Verdict(a.subject(), t.Spec.Name) != policy.Deny &&
			now.Policy.Verdict(other.subject(), t.Spec.Name) != policy.Deny {
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
	Approves  bool     // it decides approvals of other callers, and may not call tools
	Profiles  []string // that it may use, the first by default; policy.AnyProfile opens all
}

// mayUse reports whether the identity opens profile.
func (i Identity) mayUse(profile string) bool {
	return slices.Contains(i.Profiles, profile) || slices.Contains(i.Profiles, policy.AnyProfile)
}

// usual returns the profile for a request that names none; "" is the default.
func (i Identity) usual() string {
	if len(i.Profiles) == 0 || i.Profiles[0] == policy.AnyProfile {
		return ""
	}
	return i.Profiles[0]
}

// Identities proves bearer tokens.
type Identities interface {
	// Identify returns the owner of a token, or a *Challenge. Any other error
	// means that the token could not be checked: the request is refused.
	Identify(ctx context.Context, token string) (Identity, error)
	// Challenge returns the response to a request without a token.
	Challenge() *Challenge
	// Forbidden returns the response to a valid token that may not use profile.
	Forbidden(profile string) *Challenge
	// Metadata returns the OAuth protected-resource document, nil without OAuth.
	Metadata() []byte
}

// A Challenge is a refusal that says how the client can authenticate.
type Challenge struct {
	Status int    // 401 or 403; 503 if the token could not be checked
	Header string // of WWW-Authenticate
	Reason string // for the client; the same for every token that is not valid
	Cause  error  // for the log, if there is more than the client may know
}

func (c *Challenge) Error() string { return c.Reason }

// why returns the text for the log.
func (c *Challenge) why() string {
	if c.Cause != nil {
		return c.Cause.Error()
	}
	return c.Reason
}

package server

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/jsonrpc"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// Access has a transport's facts about a caller: its identity, and the restrictions that it
// asked for. Later requests cannot widen it.
type Access struct {
	Caller     tool.Caller
	Narrow     policy.Narrow
	Within     []policy.Subject // the callers for whom the caller works; they limit its rights
	Pinned     bool             // its token names the chat, so a request cannot name the sender
	Structured bool             // results have structured content, and lists their schemas
	Transport  string           // "stdio", "http", "sse" or "cli"; for the audit log
	Token      string           // id of the token; sessions are bound to it
	Identity   string           // the same for all sessions of a caller; "" if there is one session

	searches bool // the client finds tools by itself
	apps     bool // the client shows MCP Apps
	chooses  bool // the client will choose the workspace when a call needs one

	// ChooseWorkspace returns the workspace of the client's roots, or "" for the caller's. It
	// is nil if the operator has chosen one.
	ChooseWorkspace func(roots []string) string
}

func (a Access) subject() policy.Subject {
	c := a.Caller
	return policy.Subject{
		Profile: c.Profile, Agent: c.Agent, Provider: c.Provider, Group: c.ChatID, InGroup: c.PeerKind == groupChat,
		Person: c.Person(), Depth: c.Depth, Leaf: c.Leaf, Apart: c.Apart, Narrow: a.Narrow,
	}
}

// grant returns the rights of a call, for work that outlasts it.
func (c *call) grant() tool.Grant {
	a := c.Access
	return tool.Grant{
		Caller: a.Caller, Narrow: a.Narrow, Within: append(slices.Clone(a.Within), a.subject()),
		Transport: a.Transport, Token: a.Token, Identity: a.Identity,
	}
}

// AccessOf returns the access of work under a grant.
func AccessOf(g tool.Grant) Access {
	return Access{
		Caller: g.Caller, Narrow: g.Narrow, Within: g.Within,
		Transport: g.Transport, Token: g.Token, Identity: g.Identity,
	}
}

// verdict returns the decision about the riskiest call of a tool: the strictest decision about
// the caller and about every caller that it works for.
func (s *settings) verdict(a Access, name string) policy.Verdict {
	v := s.Policy.Verdict(a.subject(), name)
	for _, outer := range a.Within {
		v = min(v, s.Policy.Verdict(outer, name))
	}
	return v
}

// verdictOn returns the decision about one call with the risk rated.
func (s *settings) verdictOn(a Access, name string, rated tool.Risk) policy.Verdict {
	v := s.Policy.For(a.subject(), name, rated)
	for _, outer := range a.Within {
		v = min(v, s.Policy.For(outer, name, rated))
	}
	return v
}

// A Place has the origin of calls, from a token or a request.
type Place = jsonrpc.Place

// The kinds of a chat.
const (
	directChat = "direct"
	groupChat  = "group"
)

var errElsewhere = errors.New("the request names another provider, chat, topic or sender than its token, " +
	"its session or its headers do; they can only be named where they are open")

// at returns a with the parts of p that a leaves open. Known parts cannot change, except that a
// direct chat can become a group: rules for groups only narrow.
func (a Access) at(p Place) (Access, error) {
	if p == (Place{}) { // as in most requests
		return a, nil
	}
	return a.moved(p)
}

func (a Access) moved(p Place) (Access, error) {
	c := &a.Caller
	if p.Sender != "" && a.Pinned && p.Sender != c.Person() {
		return a, errElsewhere
	}
	switch p.PeerKind {
	case "", c.PeerKind:
	case groupChat:
		c.PeerKind = groupChat
	case directChat:
		if c.PeerKind != "" {
			return a, errElsewhere
		}
	default:
		return a, errors.New("the peer kind of a chat is direct or group")
	}
	for _, each := range []struct {
		known *string
		said  string
	}{{&c.Provider, p.Provider}, {&c.ChatID, p.Chat}, {&c.Topic, p.Topic}, {&c.Sender, p.Sender}} {
		switch {
		case each.said == "" || each.said == *each.known:
		case *each.known != "":
			return a, errElsewhere
		case len(each.said) > maxPlace || !utf8.ValidString(each.said) ||
			strings.ContainsFunc(each.said, unicode.IsControl):
			return a, fmt.Errorf("a provider, chat, topic or sender has at most %d bytes of text on one line", maxPlace)
		default:
			*each.known = each.said
		}
	}
	return a, nil
}

// maxPlace bounds the names of places, in bytes.
const maxPlace = 256

// place returns the Place that makes at put another access in the place of a.
func (a Access) place() Place {
	c := a.Caller
	return Place{Provider: c.Provider, Chat: c.ChatID, PeerKind: c.PeerKind, Topic: c.Topic, Sender: c.Sender}
}

// narrow returns a with the restrictions of more. ok is false if a has other
// restrictions already.
func (a Access) narrow(more policy.Narrow) (_ Access, ok bool) {
	if a.Narrow.Empty() {
		a.Narrow = more
	}
	return a, more.Empty() || reflect.DeepEqual(a.Narrow, more)
}

// An Identity is the identity that a bearer token proves.
type Identity struct {
	ID         string // of the token or grant, for the log; never the token
	Agent      string
	User       string
	Workspace  string
	Place      Place    // where its calls come from; without a sender
	Structured bool     // results have structured content
	Approves   bool     // it decides approvals of other callers, and may not call tools
	Profiles   []string // that it may use, the first by default; policy.AnyProfile opens all
}

// mayUse reports whether the identity opens profile.
func (i Identity) mayUse(profile string) bool {
	return slices.Contains(i.Profiles, profile) || slices.Contains(i.Profiles, policy.AnyProfile)
}

// defaultProfile returns the profile for a request that names none; "" is the default.
func (i Identity) defaultProfile() string {
	if len(i.Profiles) == 0 || i.Profiles[0] == policy.AnyProfile {
		return ""
	}
	return i.Profiles[0]
}

// Identities proves bearer tokens.
type Identities interface {
	// Identify returns the owner of a token, or a *Challenge, for a request to a profile; "" is the
	// endpoint without one. Any other error means that the token could not be checked: the request is
	// refused.
	Identify(ctx context.Context, token, profile string) (Identity, error)
	// Challenge returns the response to a request to a profile without a token.
	Challenge(profile string) *Challenge
	// Forbidden returns the response to a valid token that may not use profile.
	Forbidden(profile string) *Challenge
	// Metadata returns the OAuth protected-resource document of a profile, nil without OAuth.
	Metadata(profile string) []byte
}

// A Challenge is a refusal that names the client's way to authenticate.
type Challenge struct {
	Status int    // 401 or 403; 503 if the token could not be checked
	Header string // of WWW-Authenticate
	Reason string // for the client; the same for every token that is not valid
	Cause  error  // for the log, if there is more than the client may know
}

func (c *Challenge) Error() string { return c.Reason }

// logText returns the text for the log.
func (c *Challenge) logText() string {
	if c.Cause != nil {
		return c.Cause.Error()
	}
	return c.Reason
}

// status returns the status of the session that the call belongs to. If the
// call was narrowed, so is the status.
func (c *call) status() tool.SessionStatus {
	s := c.server
	profile, _ := c.now.Policy.Profile(c.now.Policy.ProfileOf(c.subject()))
	st := tool.SessionStatus{
		Tools: len(s.Tools(c.Access)), Autonomy: string(profile.Autonomy), Profile: profile.Name,
		Left: s.rates.left(c.Caller.Session, c.now.Limits, time.Now()), Version: s.Version,
	}
	s.loops.mu.Lock()
	defer s.loops.mu.Unlock()
	if h, ok := s.loops.sessions.Get(c.Caller.Session); ok {
		st.Since, st.Calls, st.Failed = h.since, h.calls, h.failed
	}
	return st
}

// SubjectOf returns the caller as the policy knows it.
func SubjectOf(c tool.Caller) policy.Subject { return Access{Caller: c}.subject() }

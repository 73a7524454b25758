package server

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

// A Status is what the server knows of a caller's session.
type Status struct {
	Since         time.Time // of its first call
	Calls, Failed int
	Tools         int    // that the caller sees
	Left          int    // calls that may be made at once, now
	Profile       string // with the default filled in
	Autonomy      string
}

// statusKey finds, in the context of a call, the session that it belongs to.
type statusKey struct{}

// A sessionOf is a session of a server, as one call may see it.
type sessionOf struct {
	server *Server
	access *Access
}

// StatusFrom returns the status of the session that the call of ctx belongs to.
// It is zero outside of a call. If the call was narrowed, so is the status.
func StatusFrom(ctx context.Context) Status {
	if session, ok := ctx.Value(statusKey{}).(sessionOf); ok {
		return session.server.status(*session.access)
	}
	return Status{}
}

func (s *Server) status(a Access) Status {
	now, c := s.settings(), a.Caller
	profile, _ := now.Policy.Profile(now.Policy.ProfileOf(a.subject()))
	st := Status{
		Tools: len(s.Tools(a)), Autonomy: string(profile.Autonomy),
		Profile: profile.Name,
		Left:    s.rates.left(c.Session, now.Limits, time.Now()),
	}
	s.loops.mu.Lock()
	defer s.loops.mu.Unlock()
	if h := s.loops.sessions[c.Session]; h != nil {
		st.Since, st.Calls, st.Failed = h.since, h.calls, h.failed
	}
	return st
}

// SubjectOf returns the caller as the policy knows it.
func SubjectOf(c tool.Caller) policy.Subject { return Access{Caller: c}.subject() }

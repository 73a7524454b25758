package server

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
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

// accessKey finds the access of the call that a tool works on.
type accessKey struct{}

// Status looks up the session of the call that ctx belongs to. What the call
// was narrowed to is all that its caller sees.
func (s *Server) Status(ctx context.Context) Status {
	a := Access{Caller: tool.CallerFrom(ctx)}
	if own, ok := ctx.Value(accessKey{}).(*Access); ok {
		a = *own
	}
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

// ProfileOf names the policy profile that counts for a caller.
func (s *Server) ProfileOf(c tool.Caller) string {
	return s.settings().Policy.ProfileOf(Access{Caller: c}.subject())
}

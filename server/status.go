package server

import (
	"time"

	"github.com/mcp-tools/mcp-tools/tools"
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

// Status looks up the session of c.
func (s *Server) Status(c tools.Caller) Status {
	now := s.settings()
	profile, _ := now.Policy.Profile(now.Policy.ProfileOf(Access{Caller: c}.subject()))
	st := Status{
		Tools: len(s.Tools(Access{Caller: c})), Autonomy: string(profile.Autonomy),
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

package server

import (
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/policy"
)

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
	if h := s.loops.sessions[c.Caller.Session]; h != nil {
		st.Since, st.Calls, st.Failed = h.since, h.calls, h.failed
	}
	return st
}

// SubjectOf returns the caller as the policy knows it.
func SubjectOf(c tool.Caller) policy.Subject { return Access{Caller: c}.subject() }

package app

import (
	"context"
	"net/http"

	"github.com/mcp-tools/mcp-tools/internal/approvals"
	"github.com/mcp-tools/mcp-tools/internal/audit"
	"github.com/mcp-tools/mcp-tools/server"
)

// PastCalls counts earlier calls: those with the very same arguments, and those
// of the tool. The audit log has only a digest of all arguments together, so
// calls that match a pattern cannot be counted.
type PastCalls struct{ Equal, OfTool int }

// CountPast counts the calls like c in the audit log.
func CountPast(ctx context.Context, log *audit.DB, c approvals.Call) (p PastCalls, err error) {
	p.Equal, p.OfTool, err = log.Count(ctx, c.Tool, c.Agent, c.User, c.Digest)
	return p, err
}

// ServeApprovals returns the handler of /approvals for tokens that may decide.
func ServeApprovals(s *approvals.Store) func(http.ResponseWriter, *http.Request, server.Identity) {
	return func(w http.ResponseWriter, r *http.Request, who server.Identity) {
		s.Serve(w, r, approvals.Approver{Agent: who.Agent, User: who.User, Name: who.ID, Channel: "http"})
	}
}

// approvalWait converts the setting approvals.wait.
func approvalWait(setting string) server.Wait {
	switch setting {
	case "always":
		return server.WaitAlways
	case "attended":
		return server.WaitAttended
	}
	return ""
}

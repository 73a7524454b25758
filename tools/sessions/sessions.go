// Package sessions holds the tools through which an agent learns about its own
// conversation. It knows what a session is to an agent, and neither transports
// nor storage. Begin with status.go.
package sessions

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "sessions"

// A Status is what is known of a caller's present session.
type Status struct {
	Since    time.Time // of its first call
	Calls    int
	Failed   int
	Tools    int // that the caller sees
	Profile  string
	Autonomy string
	Left     int // calls that may be made at once, now
	Version  string
}

// Tools lists the tools of the group. status looks up the session of a call by
// the call's context.
func Tools(status func(context.Context) Status) []tool.Tool {
	return []tool.Tool{
		tool.New(sessionStatus{status}),
	}
}

// Package sessions holds the tools through which an agent learns about its own
// conversation. It knows what a session is to an agent, and neither transports
// nor storage. Begin with status.go.
package sessions

import "github.com/mcp-tools/mcp-tools/internal/tool"

const group = "sessions"

// Tools lists the tools of the group.
func Tools() []tool.Tool {
	return []tool.Tool{
		tool.New(sessionStatus{}),
	}
}

// Package automation holds the tools that deal with time. It knows calendars
// and clocks; it schedules nothing yet. Begin with datetime.go, which is also
// the smallest example of a tool.
package automation

import (
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "automation"

// Tools lists the tools of the group, in the order to learn them. now is the
// clock.
func Tools(now func() time.Time) []tool.Tool {
	return []tool.Tool{
		tool.New(datetime{now}),
	}
}

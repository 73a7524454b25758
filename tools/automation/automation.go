// Package automation has the tools for dates and times. It schedules nothing yet. datetime.go is also the smallest
// example of a tool.
package automation

import (
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "automation"

// Tools returns the tools of the group. now is the clock.
func Tools(now func() time.Time) []tool.Tool {
	return []tool.Tool{
		tool.New(datetime{now}),
	}
}

// Package automation has the tools for dates and times, lists of things to do, plans, and jobs that run at times.
// datetime.go is also the smallest example of a tool; for jobs begin with [Scheduler].
package automation

import (
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

const group = "automation"

// Tools returns the tools of the group. now is the clock; model is nil without a language model, and people without channels.
func Tools(files workspace.Files, s *Scheduler, model Model, people People, now func() time.Time) []tool.Tool {
	return []tool.Tool{
		tool.New(datetime{now}),
		tool.New(todoUpdate{files, now, model, s, people}),
		tool.New(planCreate{files, model}),
		tool.Prepared(cronTool{s}),
	}
}

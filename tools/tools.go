// Package tools lists the tools of all groups. It knows which groups there are
// and what they need to work, and nothing about a single tool. Begin with All.
package tools

import (
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/results"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// A World has the dependencies of the tools. Its zero value is enough to list
// and describe them.
type World struct {
	Files   workspace.Files
	Secrets *scrub.Scrubber // with the values that must not be shown
	Exec    exec.Options
	Web     web.Options
	Memory  memory.Memories
	Graph   *knowledge.Graph
	Skills  *skills.Library
	Results *results.Store
}

// All returns the tools of all groups. A new group is one line here.
func All(w World) (*tool.Set, error) {
	var all []tool.Tool
	for _, group := range [][]tool.Tool{
		fs.Tools(w.Files, w.Secrets),
		exec.Tools(w.Exec),
		web.Tools(w.Web),
		memory.Tools(w.Memory),
		knowledge.Tools(w.Graph),
		skills.Tools(w.Skills),
		sessions.Tools(),
		automation.Tools(time.Now),
		results.Tools(w.Results, w.Web.Marks),
	} {
		all = append(all, group...)
	}
	return tool.NewSet(all...)
}

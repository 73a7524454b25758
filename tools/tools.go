// Package tools lists the tools of all groups. It knows the groups and their requirements, and
// nothing about a single tool. Begin with All.
package tools

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/policy"
	"github.com/mcp-tools/mcp-tools/scrub"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/automation"
	"github.com/mcp-tools/mcp-tools/tools/code"
	"github.com/mcp-tools/mcp-tools/tools/data"
	"github.com/mcp-tools/mcp-tools/tools/discovery"
	"github.com/mcp-tools/mcp-tools/tools/exec"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/knowledge"
	"github.com/mcp-tools/mcp-tools/tools/media"
	"github.com/mcp-tools/mcp-tools/tools/media/orders"
	"github.com/mcp-tools/mcp-tools/tools/memory"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/questions"
	"github.com/mcp-tools/mcp-tools/tools/results"
	"github.com/mcp-tools/mcp-tools/tools/script"
	"github.com/mcp-tools/mcp-tools/tools/sessions"
	"github.com/mcp-tools/mcp-tools/tools/skills"
	"github.com/mcp-tools/mcp-tools/tools/teams"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// A World has the dependencies of the tools. Its zero value is enough to list
// and describe them.
type World struct {
	Files     workspace.Files
	Secrets   *scrub.Scrubber // with the values that must not be shown
	Exec      exec.Options
	Web       web.Options
	Media     media.Options
	Memory    memory.Memories
	Graph     *knowledge.Graph
	Skills    *skills.Library
	Results   *results.Store
	Teams     *teams.Teams
	Agents    *agents.Engine
	Questions *questions.Questions
	Sessions  *sessions.Sessions
	Models    *llm.Models
	Scheduler *automation.Scheduler
	Orders    *orders.Orders   // orders of media from providers
	Model     automation.Model // nil without a language model
	Scripts   *script.Runner
	Messaging messaging.Options
	Seen      *fs.Seen
	Code      *code.Room
}

// All returns the tools of all groups.
func All(w World) (*tool.Set, error) { return tool.NewSet(list(w)...) }

// Catalogue returns the tools of all groups as rules can name them. It derives no
// schemas, so it costs little beside All.
func Catalogue() policy.Catalogue { return tool.Catalogue(list(World{})) }

// list returns the tools of all groups. A new group is one line here.
func list(w World) []tool.Tool {
	all := slices.Concat(
		fs.Tools(w.Files, w.Media.Documents, w.Seen, w.Code.Problems),
		code.Tools(w.Code),
		exec.Tools(w.Exec),
		web.Tools(w.Web),
		media.Tools(w.Media),
		memory.Tools(w.Memory),
		knowledge.Tools(w.Graph),
		skills.Tools(w.Skills),
		questions.Tools(w.Questions),
		sessions.Tools(w.Sessions),
		automation.Tools(w.Files, w.Scheduler, w.Model, people(w.Messaging.Targets), time.Now),
		agents.Tools(w.Agents),
		agents.ProgramTools(w.Agents),
		agents.ModelTools(w.Models, w.Web.Marks),
		orders.Tools(w.Orders),
		results.Tools(w.Results, w.Web.Marks),
		teams.Tools(w.Teams),
		script.Tools(w.Scripts, w.Files),
		messaging.Tools(w.Messaging),
		data.Tools(),
	)
	return append(all, discovery.Tools(all)...)
}

// people returns the people that entries of the list of things to do may refer to: the contacts of the caller, if there are
// channels.
func people(t messaging.Targets) automation.People {
	if len(t.Accounts.Names()) == 0 {
		return nil
	}
	return func(ctx context.Context) (all []automation.Person, err error) {
		o, err := tool.OwnerFrom(ctx)
		if err != nil {
			return nil, err
		}
		list, err := t.Contacts.List(ctx, o)
		for _, c := range list {
			if c.Active {
				all = append(all, automation.Person{Name: cmp.Or(c.Nickname, c.ID), References: c.References()})
			}
		}
		return all, err
	}
}

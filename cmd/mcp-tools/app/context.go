package app

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/briefing"
	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/memory"
)

// Agents returns the agents of the settings.
func Agents(list []config.Agent) []briefing.Agent {
	agents := make([]briefing.Agent, len(list))
	for i, a := range list {
		agents[i] = briefing.Agent{Name: a.Name, Predefined: a.Kind == "predefined", Evolves: a.Evolve, Dir: a.Files}
	}
	return agents
}

// openBriefing opens the context files of agents. It logs directories of the
// operator that cannot be read.
func (a *App) openBriefing() {
	agents := Agents(a.loaded.Config.Agents)
	a.briefing = NewBriefing(a.store, a.unused, agents)
	for _, agent := range agents {
		if _, err := a.briefing.Directory(agent.Name); err != nil {
			a.log.Warn("the context files of an agent cannot be read",
				"agent", agent.Name, "dir", agent.Dir, "err", err)
		}
	}
}

// NewBriefing returns the context files of a store and of agents. It does not open
// a store that is unused.
func NewBriefing(s *store.Store, unused func() bool, agents []briefing.Agent) *briefing.Briefing {
	return briefing.New(contextRows{s, unused}, agents)
}

// contextRows returns nothing while the store is unused, without opening it.
type contextRows struct {
	*store.Store
	unused func() bool
}

func (c contextRows) ContextFiles(ctx context.Context, o memory.Owner, names []string) ([]memory.Document, error) {
	if c.unused() {
		return nil, nil
	}
	return c.Store.ContextFiles(ctx, o, names)
}

func (c contextRows) AgentContext(ctx context.Context, agent string, limit int) ([]memory.Entry, error) {
	if c.unused() {
		return nil, nil
	}
	return c.Store.AgentContext(ctx, agent, limit)
}

// contextRoute shows context files in the workspace, except where the workspace
// has files of these names.
func (a *App) contextRoute() workspace.Route {
	return workspace.Route{Serves: a.unlessOnDisk(a.briefing.Serves), Source: contextFiles{a.briefing}}
}

// contextFiles adapts context files to the workspace.
type contextFiles struct{ *briefing.Briefing }

func (c contextFiles) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	list, err := c.Briefing.List(ctx, dir)
	if ctx.Err() == nil {
		err = nil // the files on disk can still be listed, and the store has logged the error
	}
	return entries(list), err
}

const (
	contextScheme = "context:///"
	// contextPrompt returns all context files. No skill can have this name.
	contextPrompt = "agent_context"
	readsContext  = "read_file" // the tool whose policy applies
)

func contextURI(name string) string { return contextScheme + name }

// contextResources returns the context files of the caller's agent.
func (l library) contextResources(ctx context.Context) ([]server.Resource, error) {
	list, err := l.context.List(ctx, ".")
	var all []server.Resource
	for _, f := range list {
		all = append(all, server.Resource{
			URI: contextURI(f.Name), Name: f.Name, MIME: "text/markdown", Size: f.Size, Modified: f.Modified,
		})
	}
	return all, err
}

func (l library) readContext(ctx context.Context, uri string) ([]tool.Part, error) {
	missing := tool.Errorf(tool.NotFound, "no context file %.200q", uri).
		Try("send a URI such as %s", contextURI(briefing.Soul))
	name, err := url.PathUnescape(strings.TrimPrefix(uri, contextScheme))
	if err != nil || tool.CallerFrom(ctx).Agent == "" {
		return nil, missing
	}
	d, err := l.context.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	return []tool.Part{{URI: uri, Text: d.Text, MIME: "text/markdown"}}, err
}

// contextPrompts returns the prompt with all context files, for callers with an
// agent.
func contextPrompts(c tool.Caller) []server.Prompt {
	if c.Agent == "" {
		return nil
	}
	return []server.Prompt{
		{
			Name: contextPrompt, Title: "Agent context",
			Description: "Who the agent is, how it works and for whom; to start a conversation with",
		},
	}
}

func (l library) fillContext(ctx context.Context, c tool.Caller) (server.Filled, error) {
	if c.Agent == "" {
		return server.Filled{}, tool.Errorf(tool.NotFound, "there is no prompt %q", contextPrompt)
	}
	text, err := l.context.Together(ctx)
	if text == "" {
		text = "There are no context files for you and your user yet."
	}
	return server.Filled{
		Description: contextPrompts(c)[0].Description, Messages: []server.Message{{Part: tool.Part{Text: text}}},
	}, err
}

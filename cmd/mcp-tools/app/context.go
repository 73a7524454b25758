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

// Agents are the agents of the settings.
func Agents(list []config.Agent) []briefing.Agent {
	agents := make([]briefing.Agent, len(list))
	for i, a := range list {
		agents[i] = briefing.Agent{Name: a.Name, Predefined: a.Kind == "predefined", Evolves: a.Evolve, Dir: a.Files}
	}
	return agents
}

// openBriefing makes what agents are told, and looks whether the operator's part
// of it can be read: who is told nothing would not know why.
func (a *App) openBriefing() {
	agents := Agents(a.loaded.Config.Agents)
	a.briefing = NewBriefing(a.store, a.unused, agents)
	for _, agent := range agents {
		if _, err := a.briefing.Directory(agent.Name); err != nil {
			a.log.Warn("what an agent is told cannot be read", "agent", agent.Name, "dir", agent.Dir, "err", err)
		}
	}
}

// NewBriefing returns the context files of a store and of agents. It asks nothing
// of a store that is unused.
func NewBriefing(s *store.Store, unused func() bool, agents []briefing.Agent) *briefing.Briefing {
	return briefing.New(contextRows{s, unused}, agents)
}

// contextRows are there from the first time that somebody keeps something.
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

// contextRoute shows what an agent is told as files of the workspace, where it
// has none of these names itself.
func (a *App) contextRoute() workspace.Route {
	return workspace.Route{Serves: a.unlessOnDisk(a.briefing.Serves), Source: contextFiles{a.briefing}}
}

// contextFiles are these documents as the workspace has files.
type contextFiles struct{ *briefing.Briefing }

func (c contextFiles) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	list, err := c.Briefing.List(ctx, dir)
	if ctx.Err() == nil {
		err = nil // the files of the disk are there still, and the store has told its log why
	}
	return entries(list), err
}

const (
	contextScheme = "context:///"
	// contextPrompt hands out all documents. No skill can have this name.
	contextPrompt = "agent_context"
	readsContext  = "read_file" // the tool whose policy decides
)

func contextURI(name string) string { return contextScheme + name }

// contextResources are the documents that the caller's agent is told.
func (l library) contextResources(ctx context.Context) ([]server.Resource, error) {
	list, err := l.told.List(ctx, ".")
	var all []server.Resource
	for _, f := range list {
		all = append(all, server.Resource{URI: contextURI(f.Name), Name: f.Name, MIME: "text/markdown", Size: f.Size, Modified: f.Modified})
	}
	return all, err
}

func (l library) readContext(ctx context.Context, uri string) ([]tool.Part, error) {
	missing := tool.Errorf(tool.NotFound, "%.200q names no context file", uri).Try("send a URI such as %s", contextURI(briefing.Soul))
	name, err := url.PathUnescape(strings.TrimPrefix(uri, contextScheme))
	if err != nil || tool.CallerFrom(ctx).Agent == "" {
		return nil, missing
	}
	d, err := l.told.Get(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, missing
	}
	return []tool.Part{{URI: uri, Text: d.Text, MIME: "text/markdown"}}, err
}

// contextPrompts is the one prompt that there is for callers with an agent.
func contextPrompts(c tool.Caller) []server.Prompt {
	if c.Agent == "" {
		return nil
	}
	return []server.Prompt{{Name: contextPrompt, Title: "What the agent is told", Description: "Who the agent is, how it works and whom for, to begin a conversation with"}}
}

func (l library) fillContext(ctx context.Context, c tool.Caller) (server.Filled, error) {
	if c.Agent == "" {
		return server.Filled{}, tool.Errorf(tool.NotFound, "there is no prompt %q", contextPrompt)
	}
	text, err := l.told.Together(ctx)
	if text == "" {
		text = "Nothing is laid down about you and your user yet."
	}
	return server.Filled{Description: contextPrompts(c)[0].Description, Messages: []server.Message{{Part: tool.Part{Text: text}}}}, err
}

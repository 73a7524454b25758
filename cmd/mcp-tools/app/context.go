package app

import (
	"context"
	"errors"
	"io/fs"
	"net/url"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

// Agents returns the agents of the settings.
func Agents(list []config.Agent) []contextfiles.Agent {
	agents := make([]contextfiles.Agent, len(list))
	for i, a := range list {
		agents[i] = contextfiles.Agent{Name: a.Name, Predefined: a.Kind == "predefined", Evolves: a.Evolve,
			Dir: a.Files}
	}
	return agents
}

// openContextFiles opens the context files of agents. It logs which directories of the operator cannot be read.
func (a *App) openContextFiles() {
	agents := Agents(a.loaded.Config.Agents)
	a.contextFiles = contextfiles.New(a.memories, agents)
	for _, agent := range agents {
		if _, err := a.contextFiles.Directory(agent.Name); err != nil {
			a.log.Warn("the context files of an agent cannot be read", "agent", agent.Name, "dir", agent.Dir, "err",
				err)
		}
	}
}

// contextRoute shows context files as files of the workspace, unless it has such files on disk.
func (a *App) contextRoute() workspace.Route {
	return workspace.Route{Serves: a.unlessOnDisk(a.contextFiles.Serves), Source: a.contextFiles}
}

const (
	contextScheme = "context:///"
	// contextPrompt returns all context files. No skill can have this name.
	contextPrompt = "agent_context"
	readsContext  = "read_file" // the policy of this tool applies
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
	missing := tool.Errorf(tool.NotFound, "there is no context file %.200q", uri).
		Try("send a URI such as %s", contextURI(contextfiles.Soul))
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
	text, err := l.context.Combined(ctx)
	if text == "" {
		text = "There are no context files for you and your user yet."
	}
	return server.Filled{
		Description: contextPrompts(c)[0].Description, Messages: []server.Message{{Part: tool.Part{Text: text}}},
	}, err
}

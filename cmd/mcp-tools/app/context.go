package app

import (
	"maps"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
)

// Agents returns the agents of the settings.
func Agents(list map[string]config.Agent) []contextfiles.Agent {
	agents := make([]contextfiles.Agent, 0, len(list))
	for _, name := range slices.Sorted(maps.Keys(list)) {
		a := list[name]
		agents = append(agents, contextfiles.Agent{
			Name: name, Predefined: a.Kind == "predefined" || a.Kind == "evolving", Evolves: a.Kind == "evolving",
			Dir: a.Files,
		})
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

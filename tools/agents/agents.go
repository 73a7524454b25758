// Package agents holds the tools for an agent to start other agents: subagents with a model,
// agents that the operator has set up, and programs that are agents themselves.
//
// All of them are jobs of one [Engine], under each name of a tool that can start
// them. A subagent survives the end of the process, ends with a result or a reason,
// and may never do more than the agent that started it: its calls take the pipeline
// of the server under a [tool.Grant] that is part of the job.
//
// The package does not know the pipeline, the settings, or how a model is reached. Begin with
// [Engine.Spawn], then model.go, the conversation of a subagent with its model; rows.go has the
// limits.
package agents

import (
	"maps"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "agents"

// Tools lists the tools of the group. Without an engine it lists all tools; else the tools that
// the operator's settings make usable.
func Tools(e *Engine) []tool.Tool {
	var all []tool.Tool
	if e == nil || e.CanWork() {
		all = append(all, tool.Prepared(spawn{follower{e}}))
	}
	if e == nil || e.CanSpawn() && e.canDelegate() {
		all = append(all, tool.Prepared(delegate{follower{e}}))
	}
	return all
}

func (e *Engine) canDelegate() bool {
	for _, a := range e.Agents {
		if len(a.DelegateTo) > 0 {
			return true
		}
	}
	return false
}

// Targets returns the agents that an agent may delegate to.
func (e *Engine) Targets(from string) (names []string) {
	allowed := e.Agents[from].DelegateTo
	for _, name := range slices.Sorted(maps.Keys(e.Agents)) {
		if name != from && (slices.Contains(allowed, name) || slices.Contains(allowed, "*")) {
			names = append(names, name)
		}
	}
	return names
}

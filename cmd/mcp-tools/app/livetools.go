package app

import (
	"maps"
	"slices"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/console"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools"
)

// liveTools are the tools that come and go while the program runs, in addition to the
// compiled-in tools.
type liveTools struct {
	mu       sync.Mutex // held while settings or tools are put in force
	bySource map[string][]tool.Tool
}

// SetTools replaces the tools of a source, such as the bridge, and notifies the clients whose
// lists change. Sources cannot shadow tools: a tool whose name is taken is left out and logged.
// So is an invalid tool, without effect on the others.
func (a *App) SetTools(source string, list []tool.Tool) error {
	a.live.mu.Lock()
	defer a.live.mu.Unlock()
	if a.live.bySource == nil {
		a.live.bySource = make(map[string][]tool.Tool)
	}
	before := a.live.bySource[source]
	a.live.bySource[source] = list
	if err := a.joinTools(); err != nil {
		a.live.bySource[source] = before
		return err
	}
	if a.Server == nil { // it is not open yet, and takes them when it is
		return nil
	}
	return a.Server.Apply(a.settings())
}

// joinTools makes the set of all tools and compiles the rules for them.
func (a *App) joinTools() error {
	all := slices.Collect(a.builtIn.All())
	taken := make(map[string]bool)
	for _, t := range all {
		taken[t.Spec.Name] = true
		for _, also := range t.Spec.Also {
			taken[also] = true
		}
	}
	if len(a.live.bySource) > 0 { // the name of a tool of ours that is not here today, such as spawn, is taken too
		ours, err := tools.All(tools.World{})
		if err != nil {
			return err
		}
		for t := range ours.All() {
			taken[t.Spec.Name] = true
		}
	}
	for _, source := range slices.Sorted(maps.Keys(a.live.bySource)) {
		for _, t := range a.live.bySource[source] {
			if taken[t.Spec.Name] {
				a.log.Warn("a tool is left out: its name is taken", "tool", t.Spec.Name, "source", source)
				continue
			}
			if _, err := tool.NewSet(t); err != nil {
				a.log.Warn("a tool is left out: it has mistakes", "tool", t.Spec.Name, "source", source, "err", err)
				continue
			}
			taken[t.Spec.Name] = true
			all = append(all, t)
		}
	}
	set, err := tool.NewSet(all...)
	if err != nil {
		return err
	}
	catalogue := set.Catalogue()
	next, err := compileRules(a.inForce(), catalogue, a.ownPaths(), a.log)
	if err != nil {
		return err
	}
	a.set, a.catalogue = set, catalogue
	a.rules.current.Store(next)
	a.calls.AddTools(set.Names()...)
	return nil
}

// inForce returns the settings that count now. A reload replaces them as a whole.
func (a *App) inForce() *Loaded { return a.current.Load() }

// settings returns the settings of the server that count now.
func (a *App) settings() server.Settings {
	return a.serverSettings(a.inForce().Config, a.rules.load().policy)
}

// questionPage returns the address of the page of a question, or of all questions for "". Without a console it returns "".
func (a *App) questionPage(id string) string { return console.QuestionPage(a.data, id) }

package app

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/server"
	"github.com/mcp-tools/mcp-tools/tools/bridge"
	"github.com/mcp-tools/mcp-tools/tools/custom"
	"github.com/mcp-tools/mcp-tools/tools/plugins"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

// livePlugins are the plugins of the operator.
type livePlugins struct {
	set plugins.Set
	now atomic.Pointer[[]plugins.Plugin] // that are in force
}

// PluginSet returns the plugins in the directory beside the settings file, and in the directories of the
// settings.
func PluginSet(l *Loaded) plugins.Set {
	files := l.Files()
	if len(files) == 0 {
		return plugins.Set{}
	}
	return plugins.Set{Dirs: append([]string{filepath.Join(filepath.Dir(files[0]), "plugins")},
		l.Config.Plugins.Dirs...)}
}

// findPlugins finds the directories of plugins, without directories that callers can write to. The plugins in them are
// read with the custom tools.
func (a *App) findPlugins() {
	set := PluginSet(a.loaded)
	for i, dir := range set.Dirs {
		by := a.writableBy(dir)
		if by == "" {
			a.plugins.set.Dirs = append(a.plugins.set.Dirs, dir)
			continue
		}
		if isDirectory(dir) {
			a.log.Warn("the plugins in a directory that callers can write to are left out", "dir", dir, "callers",
				by)
		}
		if i == 0 { // it has the list of enabled plugins
			return
		}
	}
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// pluginRoots returns the roots that let the file tools and commands read the files of plugins.
func (a *App) pluginRoots() (roots []workspace.ExtraRoot) {
	for i, dir := range a.plugins.set.Dirs {
		if isDirectory(dir) {
			roots = append(roots, workspace.ExtraRoot{Name: pluginRoot(i), Path: dir})
		}
	}
	return roots
}

// pluginRoot returns the name of the root of a directory of plugins.
func pluginRoot(i int) string {
	if i == 0 {
		return "plugins"
	}
	return fmt.Sprintf("plugins_%d", i+1)
}

// current returns the plugins that are in force.
func (p *livePlugins) current() []plugins.Plugin {
	if now := p.now.Load(); now != nil {
		return *now
	}
	return nil
}

// loadPlugins reads the enabled plugins and puts their servers, skills and context files in force.
func (a *App) loadPlugins() (all []custom.Definition) {
	usable, off, err := a.plugins.set.Enabled()
	if err != nil {
		a.log.Error("plugins are left out", "err", err)
	}
	for _, p := range off {
		a.log.Warn("a plugin is off", "plugin", p.Name, "state", string(p.State), "why", p.Why)
	}
	before := a.plugins.current()
	a.plugins.now.Store(&usable)
	if a.Server != nil && !slices.EqualFunc(before, usable, func(a, b plugins.Plugin) bool {
		return a.Path == b.Path && a.Digest == b.Digest
	}) {
		if err := a.bridge.Provide(pluginServers(usable)); err != nil {
			a.log.Error("the MCP servers of plugins cannot be put in force", "err", err)
		}
		a.Server.Changed(server.Change{}) // skills and context files
	}
	for _, p := range usable {
		all = append(all, p.Tools...)
	}
	return all
}

// pluginServers returns the MCP servers of plugins. Of several with one name the first counts.
func pluginServers(all []plugins.Plugin) map[string]bridge.Server {
	servers := map[string]bridge.Server{}
	for _, p := range all {
		for name, s := range p.Servers {
			if _, taken := servers[name]; !taken {
				servers[name] = s
			}
		}
	}
	return servers
}

// pluginSkills returns the directories of skills of plugins, with their names for file tools.
func (a *App) pluginSkills() (dirs []skills.Dir) {
	for _, p := range a.plugins.current() {
		if len(p.Skills) == 0 {
			continue
		}
		at := slices.Index(a.plugins.set.Dirs, filepath.Dir(p.Path))
		dirs = append(dirs, skills.Dir{
			Path: p.SkillsDir(), Name: pluginRoot(at) + "/" + p.Name + "/" + filepath.Base(p.SkillsDir()),
		})
	}
	return dirs
}

// pluginContext returns the directories of context files of plugins.
func (a *App) pluginContext() (dirs []string) {
	for _, p := range a.plugins.current() {
		if len(p.Context) > 0 {
			dirs = append(dirs, p.ContextDir())
		}
	}
	return dirs
}

// pluginSet returns the plugins of the settings.
func (e *Env) pluginSet() (plugins.Set, error) {
	loaded, err := e.Load()
	if err != nil {
		return plugins.Set{}, err
	}
	return PluginSet(loaded), nil
}

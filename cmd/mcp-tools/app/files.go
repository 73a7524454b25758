package app

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/room"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
	"github.com/mcp-tools/mcp-tools/tools/agents"
	"github.com/mcp-tools/mcp-tools/tools/memory/contextfiles"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/skills"
)

// openFiles opens the workspace. No file is opened yet.
func (a *App) openFiles(context.Context) error {
	c := a.loaded.Config.Workspace
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then ~ is not expanded
	}
	o := workspace.Options{
		Data: a.data, Home: home, PerCaller: workspace.PerCaller(c.PerCaller),
		HardLinks: workspace.HardLinks(c.HardLinks),
		History:   historyLimits(c), IndexMemory: maxIndexMemory,
		Private: a.ownFiles(), Log: a.log,
	}
	for name, r := range c.Roots {
		o.Roots = append(o.Roots, workspace.ExtraRoot{Name: name, Path: r.Path, Write: r.Write})
	}
	slices.SortStableFunc(o.Roots, func(a, b workspace.ExtraRoot) int { return strings.Compare(a.Name, b.Name) })
	a.skillDirs = a.loaded.Config.Skills.Find(home)
	o.Roots = append(o.Roots, skillRoots(a.skillDirs)...)
	a.findPlugins()
	o.Roots = append(o.Roots, a.pluginRoots()...)
	o.Deny, o.Protect = keptNames(c)
	o.Routes = []workspace.Route{a.contextRoute(), a.memoryRoute(), a.skillRoute(), a.teamRoute()}
	if len(a.loaded.Config.Messaging.Channels) > 0 {
		files := messaging.ContactFiles{Contacts: messaging.Contacts{Store: a.store}}
		o.Routes = append(o.Routes, workspace.Route{Serves: a.unlessOnDisk(files.Serves), Source: files, State: true})
	}
	if a.store.Engine() == "postgres" { // otherwise all processes on the store have the data directory
		o.Shared = history.NewShared(a.blobs, o.History)
	}
	if err := a.openManaged(); err != nil {
		return err
	}
	o.Managed = a.trees
	if a.files, err = workspace.New(o); err != nil {
		return err
	}
	a.onClose(a.files.Close)
	return nil
}

func historyLimits(c workspace.Settings) history.Limits {
	return history.Limits{Age: historyAge, Bytes: int64(c.HistoryBytes)}
}

// keptNames returns the patterns of files that callers cannot see, and the patterns of files that they cannot change.
func keptNames(c workspace.Settings) (deny, protect []string) {
	return append(workspace.DefaultDeny(), c.Deny...), append(workspace.DefaultProtect(), c.Protect...)
}

// ownFiles returns the paths of this server's settings and secrets.
func (a *App) ownFiles() []string {
	files := a.loaded.Files()
	if dir, chosen, err := a.env.VaultDir(); err == nil && chosen { // otherwise it is in the data directory
		files = append(files, dir)
	}
	return files
}

// ownPaths returns the paths of this server's settings, secrets and data, as they are
// written and without links.
func (a *App) ownPaths() []string {
	all := append([]string{a.data}, a.ownFiles()...)
	for _, path := range slices.Clone(all) {
		if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
			all = append(all, real)
		}
	}
	return all
}

// directories returns the directories that commands of a caller may see. The files of the settings are hidden wherever
// they are.
func (a *App) directories(ctx context.Context) (sandbox.Directories, error) {
	g, err := a.files.Layout(ctx)
	if err != nil {
		return g, err
	}
	for _, path := range a.ownFiles() {
		real, err := filepath.EvalSymlinks(path)
		if err != nil || slices.ContainsFunc(g.Hidden, func(dir string) bool { return isWithin(real, dir) }) {
			continue
		}
		info, err := os.Stat(real)
		if err != nil {
			continue
		}
		g.Hidden = append(g.Hidden, real)
		g.Covered += fmt.Sprint(" ", info.Size(), info.ModTime().UnixNano())
	}
	return g, nil
}

// isWithin reports whether a path is a directory or below it.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// writableSettings returns the directory of callers that contains the settings file, or "":
// commands can change the settings there.
func (a *App) writableSettings() string { return a.writableBy(a.loaded.Files()[0]) }

// writableBy returns the directory of callers that contains a path, or "".
func (a *App) writableBy(path string) string {
	c := a.loaded.Config
	dirs := slices.Clone(c.Sandbox.Write)
	if dir, err := WorkspaceDir(c.Connections.Stdio.Workspace); err == nil && dir != "" {
		dirs = append(dirs, dir)
	}
	for _, t := range c.Connections.Tokens {
		if t.Workspace != "" {
			dirs = append(dirs, t.Workspace)
		}
	}
	for _, r := range c.Workspace.Roots {
		if r.Write {
			dirs = append(dirs, r.Path)
		}
	}
	for _, dir := range dirs {
		if isWithin(path, dir) || isWithin(realPath(path), realPath(dir)) {
			return dir
		}
	}
	return ""
}

// realPath returns a path without links. The last step need not exist.
func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(dir, filepath.Base(path))
	}
	return path
}

// skillRoots returns the roots that let the file tools and commands read these directories.
func skillRoots(dirs []skills.Dir) []workspace.ExtraRoot {
	var roots []workspace.ExtraRoot
	for _, d := range dirs {
		roots = append(roots, workspace.ExtraRoot{Name: d.Name, Path: d.Path})
	}
	return roots
}

// skillRoute serves the files of published skills in the workspace.
func (a *App) skillRoute() workspace.Route {
	served := skills.NewServed(a.store, visibleSkills(a.loaded.Config.Agents))
	return workspace.Route{Serves: served.Serves, Source: served}
}

// openSkills makes the library of skills. It opens nothing yet.
func (a *App) openSkills(context.Context) error {
	o := skills.Options{Store: a.store, Unused: a.unused, Files: a.files, Dirs: a.skillDirs, Live: a.pluginSkills,
		Visible: visibleSkills(a.loaded.Config.Agents), Scrub: a.scrub.Text}
	if a.encoder != nil {
		o.Encoder = a.encoder
	}
	a.skills = skills.New(o)
	return nil
}

// visibleSkills returns the patterns of the skills that the agents of the settings see.
func visibleSkills(agents map[string]agents.AgentSettings) skills.Visible {
	visible := skills.Visible{}
	for name, a := range agents {
		visible[name] = a.Skills
	}
	return visible
}

// Agents returns the agents of the settings.
func Agents(list map[string]agents.AgentSettings) []contextfiles.Agent {
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

// openContextFiles opens the context files of agents. It logs unreadable directories of the operator.
func (a *App) openContextFiles() {
	agents := Agents(a.loaded.Config.Agents)
	a.contextFiles = contextfiles.New(a.memories, agents)
	a.contextFiles.Shared = a.pluginContext
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

// skillsOf returns the published skills of a host.
func (e *Env) skillsOf(h *room.Host) (*skills.Library, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	return skills.New(skills.Options{Store: h.Store, Visible: visibleSkills(loaded.Config.Agents)}), nil
}

// contextFilesOf returns the context files of the agents of a host.
func (e *Env) contextFilesOf(h *room.Host) (*contextfiles.Files, error) {
	loaded, err := e.Load()
	if err != nil {
		return nil, err
	}
	return contextfiles.New(MemoryRows(h.Store, loaded.Config), Agents(loaded.Config.Agents)), nil
}

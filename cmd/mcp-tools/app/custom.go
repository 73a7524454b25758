package app

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/custom"
)

// customTools are the tools that the operator has defined.
type customTools struct {
	dir string // of files with definitions; "" if callers can write to it
	// agents has the agent that a tool is for, by the tool; a tool for all agents is not in it. It is read while tools
	// are put in force.
	agents atomic.Pointer[map[string]string]

	loading sync.Mutex // held while definitions are read and put in force
	stored  bool       // the store was read
}

// CustomDir returns the directory of files with definitions of tools, beside the settings
// file; "" if there is no place for one, because the user has no home directory.
func CustomDir(l *Loaded) string {
	files := l.Files()
	if len(files) == 0 {
		return ""
	}
	return filepath.Join(filepath.Dir(files[0]), "tools.d")
}

func (a *App) openCustom(ctx context.Context) error {
	dir := CustomDir(a.loaded)
	if by := a.writableBy(dir); dir == "" || by == "" {
		a.custom.dir = dir
	} else if _, err := os.Stat(dir); err == nil {
		a.log.Warn("the tools in a directory that callers can write to are left out; move the settings elsewhere",
			"dir", dir, "callers", by)
	}
	a.loadCustom(ctx, custom.Marked(a.data) && !a.unused())
	return nil
}

// loadCustom reads the definitions of files, and those in the store if stored is true or if they were read before. A
// definition with mistakes is logged and left out.
func (a *App) loadCustom(ctx context.Context, stored bool) {
	c := &a.custom
	c.loading.Lock()
	defer c.loading.Unlock()
	var all []custom.Definition
	var err error
	if c.dir != "" {
		if all, err = custom.LoadDir(c.dir); err != nil {
			a.log.Error("tools of files are left out", "err", err)
		}
	}
	if c.stored = c.stored || stored; c.stored {
		rows, err := custom.Rows{Store: a.store}.List(ctx)
		if ctx.Err() != nil {
			return // the server ends
		}
		if err != nil {
			a.log.Error("tools of the store are left out", "err", err)
		}
		all = append(all, rows...)
	}
	all = append(all, a.loadPlugins()...)
	seen, agents := map[string]bool{}, map[string]string{}
	var list []custom.Definition
	for _, d := range all {
		if seen[d.Name] {
			a.log.Warn("a tool is left out: its name is taken", "tool", d.Name, "source", "custom")
			continue
		}
		seen[d.Name] = true
		list = append(list, d)
		if d.Agent != "" {
			agents[d.Name] = d.Agent
		}
	}
	if len(list) == 0 && c.agents.Load() == nil {
		return // there never was one
	}
	c.agents.Store(&agents)
	if err := a.SetTools("custom", custom.Tools(list, a.customOptions())); err != nil {
		a.log.Error("the tools of the operator cannot be put in force", "err", err)
	}
}

func (a *App) customOptions() custom.Options {
	return custom.Options{
		Commands: a.commands, Checkpoint: a.files.Checkpoint, Changeable: a.changeable, Client: a.web.Client,
		Marks: a.web.Options.Marks, Scripts: a.runner, Secret: a.secret, Mask: a.scrub.Set,
	}
}

// hidden returns the tools that an agent does not have.
func (c *customTools) hidden(agent string) (all []string) {
	agents := c.agents.Load()
	if agents == nil {
		return nil
	}
	for name, of := range *agents {
		if of != agent {
			all = append(all, name)
		}
	}
	return all
}

// watchCustom reloads definitions and plugins when their files change, until ctx ends.
func (a *App) watchCustom(ctx context.Context) {
	watched := func() []string {
		dirs := a.plugins.set.Watched()
		if a.custom.dir != "" {
			dirs = append(dirs, a.custom.dir)
		}
		return dirs
	}
	if err := custom.Watch(ctx, watched, func() { a.loadCustom(ctx, false) }); err != nil {
		a.log.Debug("changes of files with tools are not noticed before a restart", "directories", watched(), "err",
			err)
	}
}

// customDir returns the directory of files with definitions of tools.
func (e *Env) customDir() (string, error) {
	loaded, err := e.Load()
	if err != nil {
		return "", err
	}
	return CustomDir(loaded), nil
}

// takenNames returns a function that reports whether a tool of the program has a name.
func takenNames() func(string) bool {
	ours := sync.OnceValues(func() (*tool.Set, error) { return tools.All(tools.World{}) })
	return func(name string) bool {
		set, err := ours()
		if err != nil {
			return true
		}
		_, taken := set.Lookup(name)
		return taken
	}
}

package app

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
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
		Deny:      append(workspace.DefaultDeny(), c.Deny...),
		Protect:   append(workspace.DefaultProtect(), c.Protect...),
		History:   history.Limits{Age: historyAge, Bytes: int64(c.HistoryBytes)}, IndexMemory: maxIndexMemory,
		Log: a.log,
	}
	if dir, chosen, err := a.env.VaultDir(); err == nil && chosen { // otherwise it is in the data directory, which is hidden
		o.Deny = append(o.Deny, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir))
	}
	for name, r := range c.Roots {
		o.Roots = append(o.Roots, workspace.ExtraRoot{Name: name, Path: r.Path, Write: r.Write})
	}
	slices.SortFunc(o.Roots, func(a, b workspace.ExtraRoot) int { return strings.Compare(a.Name, b.Name) })

	a.skillDirs = a.findSkillDirs(home)
	o.Roots = append(o.Roots, skillRoots(a.skillDirs)...)
	o.Routes = []workspace.Route{a.contextRoute(), a.memoryRoute(), a.skillRoute()}
	if a.files, err = workspace.New(o); err != nil {
		return err
	}
	a.onClose(a.files.Close)
	return nil
}

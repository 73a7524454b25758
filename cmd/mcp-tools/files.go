package main

import (
	"context"
	"os"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/history"
)

// openFiles makes the workspace, which opens nothing until it is asked for a
// file.
func (h *house) openFiles(context.Context) error {
	c := h.loaded.Config.Workspace
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // then ~ means nothing
	}
	o := workspace.Options{
		Data: h.data, Home: home, PerCaller: workspace.PerCaller(c.PerCaller), HardLinks: workspace.HardLinks(c.HardLinks),
		Deny: append(workspace.DefaultDeny(), c.Deny...), Protect: append(workspace.DefaultProtect(), c.Protect...),
		History: history.Limits{Age: time.Duration(c.HistoryAge), Bytes: int64(c.HistoryBytes)}, Log: h.log,
	}
	if dir := h.loaded.Config.Vault.Dir; dir != "" { // else it is in the data directory, which nobody sees
		o.Deny = append(o.Deny, strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir))
	}
	for _, r := range c.Roots {
		o.Roots = append(o.Roots, workspace.ExtraRoot{Name: r.Name, Path: r.Path, Write: r.Write})
	}
	if c.Index == "auto" {
		o.IndexMemory = int64(c.IndexMemory)
	}
	h.skillsIn = h.skillDirs(home)
	o.Roots = append(o.Roots, skillRoots(h.skillsIn)...)
	o.Routes = []workspace.Route{h.contextRoute(), h.memoryRoute(), h.skillRoute()}
	if h.files, err = workspace.New(o); err != nil {
		return err
	}
	h.onClose(h.files.Close)
	return nil
}

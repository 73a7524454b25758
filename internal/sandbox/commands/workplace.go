package commands

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// A Workplace is the sandbox for programs of the server that work on the files of a caller, such as language
// servers. They see the same files as the caller's commands.
type Workplace struct {
	Tier        string
	Isolated    bool
	Require     []sandbox.Guarantee
	Directories sandbox.Directories
	Read        []string // further files and directories that commands see
	Cache       string   // directory of the caches of the caller's commands; "" for none
	Path        []string // directories of programs
	Environ     []string // NAME=value, for every command
}

// Workplace returns the Workplace of the caller in ctx. The error says why the caller runs no commands.
func (c *Commands) Workplace(ctx context.Context) (Workplace, error) {
	p, err := c.target(ctx, "", false, true)
	if err != nil {
		return Workplace{}, err
	}
	w := Workplace{
		Tier: p.site.Tier, Isolated: p.site.Isolated, Require: p.policy.Require, Directories: p.dirs.Directories,
		Read: p.extra, Environ: c.o.Environ, Path: p.path,
	}
	if w.Isolated && c.o.Caches != "" {
		w.Cache, err = c.cacheDir(p)
	}
	return w, err
}

package commands

import (
	"cmp"
	"log/slog"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// PolicyOf returns the policy for the commands of a profile with a mode. An empty mode is the mode of callers with
// other profiles.
func PolicyOf(c sandbox.Settings, mode string) Policy {
	p := Policy{
		Mode: Mode(cmp.Or(mode, c.Mode)), Network: c.Network != "off", Asks: c.Network != "on",
	}
	if p.Mode != Host { // the host cannot isolate anything
		for _, name := range c.Require {
			p.Require = append(p.Require, sandbox.Guarantee(name))
		}
	}
	return p
}

// Modes returns the function that chooses the policy of a caller by the settings. profile returns the profile of a caller.
func Modes(c sandbox.Settings, profile func(tool.Caller) string) func(tool.Caller) Policy {
	return func(caller tool.Caller) Policy {
		mode := c.Profiles[profile(caller)]
		if own, ok := c.Agents[caller.Agent]; ok {
			of := c
			of.Network = cmp.Or(own.Network, c.Network)
			return PolicyOf(of, cmp.Or(own.Mode, mode))
		}
		return PolicyOf(c, mode)
	}
}

// Existing returns the directories of the operator that exist, with links
// resolved. A missing directory is logged; commands run without it.
func Existing(paths []string, log *slog.Logger) []string {
	var there []string
	for _, path := range paths {
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			log.Warn("commands cannot see a directory of sandbox.read or sandbox.write; create it and restart",
				"err", err)
			continue
		}
		there = append(there, real)
	}
	return there
}

// Package local lists the sandboxes that need no settings: that of this system, and the host. Begin with [Launchers].
package local

import (
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
)

// Launchers returns the sandboxes, the strongest first. private are directories of which commands see only the binds of
// their sandbox, where a sandbox would show them.
func Launchers(private ...string) []sandbox.Launcher {
	return append(ofSystem(private), &host.Launcher{})
}

// Tiers returns the sandboxes as tiers.
func Tiers(private ...string) sandbox.Tiers { return sandbox.NewTiers(Launchers(private...)...) }

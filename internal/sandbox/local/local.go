// Package local lists the sandboxes that need no settings: the sandbox of the operating system, and the host. Begin
// with [Launchers].
package local

import (
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
)

// Launchers returns the sandboxes, the strongest first. private are directories that commands do not see, except for
// the binds of their sandbox.
func Launchers(private ...string) []sandbox.Launcher {
	return append(ofSystem(private), &host.Launcher{})
}

// Tiers returns the sandboxes as tiers.
func Tiers(private ...string) sandbox.Tiers { return sandbox.NewTiers(Launchers(private...)...) }

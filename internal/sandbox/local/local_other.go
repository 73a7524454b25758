//go:build !darwin && !windows

package local

import (
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

func ofSystem([]string) []sandbox.Launcher { return []sandbox.Launcher{&kernel.Launcher{}} }

package local

import "github.com/mcp-tools/mcp-tools/internal/sandbox"

func ofSystem([]string) []sandbox.Launcher { return nil }

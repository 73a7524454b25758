package local

import (
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/seatbelt"
)

func ofSystem(private []string) []sandbox.Launcher {
	return []sandbox.Launcher{seatbelt.Launcher{Private: private}}
}

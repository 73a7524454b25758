package fs

import (
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// ReadFile is the tool, for tests in package fs_test: those that use a real
// workspace cannot be in this package, because the workspace imports it.
func ReadFile(files workspace.Files, seen *Seen) tool.Tool { return tool.New(newReadFile(files, seen)) }

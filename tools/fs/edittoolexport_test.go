package fs

import (
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// EditFile is the tool, for tests that need a real workspace, which imports
// this package.
func EditFile(files workspace.Files, seen *Seen) tool.Tool { return tool.New(editFile{files, seen}) }

package fs

import (
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Changing are the tools that write whole files and patches, and take changes
// back, for tests that need a real workspace, which imports this package.
func Changing(files workspace.Files, seen *Seen) []tool.Tool {
	return []tool.Tool{
		tool.New(writeFile{files, seen}), tool.New(applyPatch{files, seen}),
		tool.New(fileHistory{files}), tool.New(undoChange{files, seen}),
	}
}

package fs

import (
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Single tools for tests with a real workspace, which share what a session has seen.

func ReadFile(files workspace.Files, seen *Seen) tool.Tool {
	return tool.New(newReadFile(files, seen, nil))
}

func EditFile(files workspace.Files, seen *Seen) tool.Tool {
	return tool.New(editFile{files, seen, nil})
}

// Changing returns the tools that write whole files and patches, and those that list and undo changes.
func Changing(files workspace.Files, seen *Seen) []tool.Tool {
	return []tool.Tool{
		tool.New(writeFile{files, seen, nil}), tool.New(applyPatch{files, seen, nil}),
		tool.New(fileHistory{files}), tool.New(undoChange{files, seen}),
	}
}

package fs

import "github.com/mcp-tools/mcp-tools/tools"

// Changing are the tools that write whole files and patches, and take changes
// back, for tests that need a real workspace, which imports this package.
func Changing(files Files, seen *Seen) []tools.Tool {
	return []tools.Tool{
		tools.New(writeFile{files, seen}), tools.New(applyPatch{files, seen}),
		tools.New(fileHistory{files}), tools.New(undoChange{files, seen}),
	}
}

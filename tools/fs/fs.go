package fs

import (
	"cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const group = "fs"

// Tools are the tools that read, change and search files.
func Tools(files Files) []tool.Tool {
	seen := &Seen{}
	return []tool.Tool{
		tool.New(newReadFile(files, seen)),
		tool.New(writeFile{files, seen}),
		tool.New(editFile{files, seen}),
		tool.New(applyPatch{files, seen}),
		tool.New(listFiles{files}),
		tool.New(search{files}),
		tool.New(globFiles{files}),
		tool.New(fileHistory{files}),
		tool.New(undoChange{files, seen}),
	}
}

// here is a directory, or the workspace when none was given.
func here(path string) string { return cmp.Or(path, ".") }

// bounded is a number that was asked for, within bounds. To bound it here and
// not in the schema saves the model from reading the bounds in each turn.
func bounded(n, usual, most int) int {
	if n <= 0 {
		return usual
	}
	return min(n, most)
}

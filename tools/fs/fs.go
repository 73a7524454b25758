package fs

import (
	"cmp"

	"github.com/mcp-tools/mcp-tools/tools"
)

const group = "fs"

// Tools are the tools that read, change and search files.
func Tools(files Files) []tools.Tool {
	seen := &Seen{}
	return []tools.Tool{
		tools.New(newReadFile(files, seen)),
		tools.New(writeFile{files, seen}),
		tools.New(editFile{files, seen}),
		tools.New(applyPatch{files, seen}),
		tools.New(listFiles{files}),
		tools.New(search{files}),
		tools.New(globFiles{files}),
		tools.New(fileHistory{files}),
		tools.New(undoChange{files, seen}),
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

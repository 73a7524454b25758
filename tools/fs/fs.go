// Package fs holds the tools that read, change and search files.
//
// It knows how to describe files and their changes to a model. It does not know
// where files are or how they are kept: [workspace.Files] does, decides which
// caller sees which files, and never lets a path lead out. The work that has
// nothing to do with tools is in the packages below this one: text (encodings
// and lines), edit (finding and replacing), patch (patches) and picture
// (images).
//
// Begin with [Tools], the list of the tools, and readfile.go.
package fs

import (
	"cmp"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

const group = "fs"

// Tools are the tools that read, change and search files.
func Tools(files workspace.Files) []tool.Tool {
	seen := &Seen{}
	return []tool.Tool{
		tool.New(newReadFile(files, seen)),
		tool.New(writeFile{files, seen}),
		tool.New(editFile{files, seen}),
		tool.New(applyPatch{files, seen}),
		tool.New(listFiles{files}),
		tool.New(searchFiles{files}),
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

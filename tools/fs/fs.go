// Package fs has the tools that read, change and search files.
//
// It knows how to describe files and their changes to a model. [workspace.Files] decides about the location of files
// and the rights of each caller, and keeps paths inside the workspace. The work that does not concern tools is in
// the packages below: textfile (encodings and lines), edit (finding and replacing text) and patch (applying
// patches).
//
// Begin with [Tools], then readfile.go.
package fs

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/scrub"
)

const group = "fs"

// Tools returns the tools of the group. They can be described without files. Without documents, read_file shows none.
// Problems returns the problems in files after a change, in a few lines and at once; nil: nothing is known.
func Tools(files workspace.Files, documents *document.Service, seen *Seen, problems Problems) []tool.Tool {
	return []tool.Tool{
		tool.New(newReadFile(files, seen, documents)),
		tool.New(writeFile{files, seen, problems}),
		tool.New(editFile{files, seen, problems}),
		tool.New(applyPatch{files, seen, problems}),
		tool.New(listFiles{files}),
		tool.New(searchFiles{files, seen, newTexts(documents)}),
		tool.New(globFiles{files}),
		tool.New(fileHistory{files}),
		tool.New(undoChange{files, seen}),
	}
}

// Problems returns the problems of changed files, "" for none.
type Problems func(ctx context.Context, changed []workspace.Changed) string

// after returns the text of a result with the problems after a change.
func (p Problems) after(ctx context.Context, text string, r workspace.Receipt) string {
	if p == nil || len(r.Files) == 0 {
		return text
	}
	if found := p(ctx, r.Files); found != "" {
		return text + "\n" + found
	}
	return text
}

// dirOrWorkspace returns a path, or the workspace if there is none.
func dirOrWorkspace(path string) string { return cmp.Or(path, ".") }

// bounded returns a number within bounds, or the default if it is not positive. Checking it here and not in the schema
// spares the model the bounds in each turn.
func bounded(n, fallback, limit int) int {
	if n <= 0 {
		return fallback
	}
	return min(n, limit)
}

// formatUnlisted names directories that could not be read.
func formatUnlisted(b *strings.Builder, dirs []string) {
	const maxShown = 5
	if len(dirs) == 0 {
		return
	}
	shown := dirs[:min(maxShown, len(dirs))]
	fmt.Fprintf(b, "[could not read %s", strings.Join(shown, ", "))
	if more := len(dirs) - len(shown); more > 0 {
		fmt.Fprintf(b, " and %d more", more)
	}
	b.WriteString("]\n")
}

// changedFile returns the receipt of a file.
func changedFile(r workspace.Receipt, name string) workspace.Changed {
	for _, c := range r.Files {
		if c.Name == name {
			return c
		}
	}
	return workspace.Changed{Name: name}
}

// scrubbed returns text without secrets, for differences that are shown.
func scrubbed(secrets *scrub.Scrubber) func(string) string {
	if secrets == nil {
		return func(text string) string { return text }
	}
	return secrets.Text
}

// actionOf names the change of a file.
func actionOf(c workspace.Changed) string {
	switch {
	case c.Removed:
		return "removed"
	case c.Created:
		return "created"
	}
	return "changed"
}

// undoHint returns how to undo a change.
func undoHint(r workspace.Receipt) string {
	if r.ID == "" {
		return ""
	}
	return "; to undo it use undo " + r.ID
}

package workspace_test

import (
	"context"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// readers returns the contents of several files, one after the other.
func readers(parts ...any) io.Reader {
	var all []io.Reader
	for _, part := range parts {
		switch part := part.(type) {
		case *workspace.File:
			all = append(all, io.NewSectionReader(part, 0, part.Size))
		case io.Reader:
			all = append(all, part)
		}
	}
	return io.MultiReader(all...)
}

// appending returns a plan that appends text to each file.
func appending(text string) func([]*workspace.File) ([]workspace.Change, error) {
	return func(files []*workspace.File) ([]workspace.Change, error) {
		var changes []workspace.Change
		for _, f := range files {
			changes = append(changes, workspace.Change{Path: f.Name, Content: readers(f, strings.NewReader(text))})
		}
		return changes, nil
	}
}

// endless is a content that cancels the context of its call's context after a while.
type endless struct{ cancel context.CancelFunc }

func (e endless) Read(b []byte) (int, error) {
	e.cancel()
	return len(b), nil
}

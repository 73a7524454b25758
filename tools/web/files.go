package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Files are the files of the caller in ctx.
type Files interface {
	// Save writes a file completely or not at all, and returns its name.
	Save(ctx context.Context, path string, content io.Reader) (name string, err error)
	// Check returns the error that Save would return before it writes.
	Check(ctx context.Context, path string) error
}

// WorkspaceFiles saves downloads in the workspace. The undo tool can revert that.
type WorkspaceFiles struct{ Workspace workspace.Files }

var errCheckOnly = errors.New("check only")

// Check returns the error that Save would return before it writes.
func (f WorkspaceFiles) Check(ctx context.Context, path string) error {
	_, err := f.Workspace.Change(ctx, []string{path}, func([]*workspace.File) ([]workspace.Change, error) {
		return nil, errCheckOnly
	})
	if errors.Is(err, errCheckOnly) {
		return nil
	}
	return err
}

// Save writes a file completely or not at all.
func (f WorkspaceFiles) Save(ctx context.Context, path string, content io.Reader) (string, error) {
	return f.save(ctx, path, content, true)
}

// Open opens a file of the caller for an upload.
func (f WorkspaceFiles) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	file, err := f.Workspace.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return opened{io.NewSectionReader(file, 0, file.Size), file}, nil
}

// opened is a file that is read from its beginning.
type opened struct {
	io.Reader
	io.Closer
}

// maxNumbered limits the files with the same name and different numbers.
const maxNumbered = 1000

// Add writes a file under a new name: a number is added if the name is taken.
func (f WorkspaceFiles) Add(ctx context.Context, path string, content io.Reader) (string, error) {
	extension := filepath.Ext(path)
	stem := strings.TrimSuffix(path, extension)
	for n := 2; ; n++ {
		name, err := f.save(ctx, path, content, false)
		if !errors.Is(err, errExists) {
			return name, err
		}
		if n > maxNumbered {
			return "", tool.Errorf(tool.Conflict, "%d files have the name %q with a number", maxNumbered, path).
				Try("move or delete some of them")
		}
		path = fmt.Sprintf("%s-%d%s", stem, n, extension)
	}
}

var errExists = errors.New("the file exists")

func (f WorkspaceFiles) save(ctx context.Context, path string, content io.Reader, replace bool) (string, error) {
	r, err := f.Workspace.Change(ctx, []string{path}, func(files []*workspace.File) ([]workspace.Change, error) {
		if !replace && files[0].Exists {
			return nil, errExists
		}
		return []workspace.Change{{Path: path, Content: content}}, nil
	})
	if err != nil || len(r.Files) == 0 {
		return path, err
	}
	return r.Files[0].Name, nil
}

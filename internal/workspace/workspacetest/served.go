package workspacetest

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Files are a [workspace.Source] that knows its names and has another type of entry.
type Files[E Entry] interface {
	Serves(ctx context.Context, name string) bool
	Read(ctx context.Context, name string) ([]byte, time.Time, error)
	Write(ctx context.Context, name string, content []byte) error
	Remove(ctx context.Context, name string) error
	List(ctx context.Context, dir string) ([]E, error)
}

// An Entry has the fields of [workspace.SourceEntry].
type Entry interface {
	~struct {
		Name     string
		Size     int64
		Modified time.Time
	}
}

type served[E Entry] struct{ Files[E] }

func (s served[E]) List(ctx context.Context, dir string) ([]workspace.SourceEntry, error) {
	list, err := s.Files.List(ctx, dir)
	entries := make([]workspace.SourceEntry, len(list))
	for i, e := range list {
		entries[i] = workspace.SourceEntry(e)
	}
	return entries, err
}

// Serving is an option for [New] that adds files to the workspace and denies names.
func Serving[E Entry](files Files[E], deny ...string) func(*workspace.Options) {
	return func(o *workspace.Options) {
		o.Deny = append(o.Deny, deny...)
		o.Routes = append(o.Routes, workspace.Route{Serves: files.Serves, Source: served[E]{files}})
	}
}

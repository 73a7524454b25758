package workspacetest

import (
	"context"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
)

// Unlisted are files that are read by their names and never listed.
type Unlisted interface {
	Serves(ctx context.Context, name string) bool
	Read(ctx context.Context, name string) ([]byte, time.Time, error)
	Write(ctx context.Context, name string, content []byte) error
	Remove(ctx context.Context, name string) error
}

type unlisted struct{ Unlisted }

func (unlisted) List(context.Context) ([]workspace.SourceEntry, error) { return nil, nil }

// Serving is an option for [New]: such files are part of the workspace, and
// some names are denied.
func Serving(files Unlisted, deny ...string) func(*workspace.Options) {
	return func(o *workspace.Options) {
		o.Deny = append(o.Deny, deny...)
		o.Routes = append(o.Routes, workspace.Route{Serves: files.Serves, Source: unlisted{files}})
	}
}

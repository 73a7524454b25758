package app

import (
	"context"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/tools/media"
)

// openDocuments makes what reads documents. Nothing is started yet.
func (a *App) openDocuments(context.Context) error {
	dir, err := filepath.EvalSymlinks(a.data)
	if err != nil {
		dir = a.data // it is made later, by this name
	}
	a.documents = document.New(document.Options{
		Launchers: []sandbox.Launcher{&kernel.Launcher{}, &host.Launcher{}},
		Dir:       filepath.Join(dir, "documents"), Log: a.log,
	})
	return nil
}

// mediaOptions returns what the tools for documents and media need.
func (a *App) mediaOptions() media.Options {
	return media.Options{
		Files: a.files, Client: a.web.client, Marks: a.web.options.Marks, Documents: a.documents,
	}
}

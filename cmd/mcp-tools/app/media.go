package app

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media"
)

// NewDocuments returns what reads documents. Nothing is started yet.
func NewDocuments(data string, log *slog.Logger, mask func(string) string) *document.Service {
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real // the sandbox follows no links
	}
	return document.New(document.Options{
		Launchers: []sandbox.Launcher{&kernel.Launcher{}, &host.Launcher{}}, Dir: filepath.Join(data, "documents"),
		Marks: tool.NewMarks(), Mask: mask, Log: log,
	})
}

// openDocuments makes what reads documents.
func (a *App) openDocuments(context.Context) error {
	a.documents = NewDocuments(a.data, a.log, a.scrub.Text)
	return nil
}

// mediaOptions returns what the tools for documents and media need.
func (a *App) mediaOptions() media.Options {
	return media.Options{Files: a.files, Client: a.web.client, Documents: a.documents}
}

package app

import (
	"context"
	"log/slog"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/fs"
	"github.com/mcp-tools/mcp-tools/tools/media"
)

// NewDocuments returns the service that reads documents. It starts nothing yet. Without blobs it keeps nothing for the
// next reading.
func NewDocuments(
	data string, tiers sandbox.Tiers, c media.Settings, blobs *blob.Blobs, log *slog.Logger, mask func(string) string,
) *document.Service {
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real // the sandbox follows no links
	}
	return document.New(document.Options{
		Tiers: tiers, Formats: readers.Formats(), Dir: filepath.Join(data, "documents"), Blobs: blobs,
		Marks: tool.NewMarks(), Mask: mask, Log: log, Language: strings.Join(c.Languages, "+"),
	})
}

// openDocuments makes the service that reads documents.
func (a *App) openDocuments(context.Context) error {
	a.documents = NewDocuments(a.data, a.tiers, a.loaded.Config.Media, a.blobs, a.log, a.scrub.Text)
	return nil
}

// mediaOptions returns the dependencies of the tools for documents and media.
func (a *App) mediaOptions(seen *fs.Seen) media.Options {
	c := a.loaded.Config.Media
	return media.Options{
		Files: a.files, Client: a.web.Client, Marks: a.web.Options.Marks, Documents: a.documents,
		Providers: a.providers, Made: a.generated(), Programs: &program.Runner{Tiers: a.tiers, Slots: make(chan struct{}, max(2, runtime.NumCPU()))},
		Browser:    a.drawing,
		Seen:       seen,
		Scratch:    filepath.Join(a.data, "media"),
		Transcribe: c.Transcribe.Command, Speak: c.Speech.Command, Languages: c.Languages,
	}
}

// openDrawing makes the browsers that draw diagrams. None is started yet.
func (a *App) openDrawing(context.Context) (err error) {
	a.drawing, err = browser.Offline(a.loaded.Config.Web.Browser, a.tiers, a.log)
	if err == nil {
		a.onClose(a.drawing.Close)
	}
	return err
}

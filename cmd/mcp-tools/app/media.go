package app

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media"
)

// NewDocuments returns the service that reads documents. It starts nothing yet.
func NewDocuments(
	data string, tiers sandbox.Tiers, c media.Settings, log *slog.Logger, mask func(string) string,
) *document.Service {
	if real, err := filepath.EvalSymlinks(data); err == nil {
		data = real // the sandbox follows no links
	}
	return document.New(document.Options{
		Tiers: tiers, Formats: readers.Formats(), Dir: filepath.Join(data, "documents"),
		Marks: tool.NewMarks(), Mask: mask, Log: log, Language: strings.Join(c.Languages, "+"),
	})
}

// openDocuments makes the service that reads documents.
func (a *App) openDocuments(context.Context) error {
	a.documents = NewDocuments(a.data, a.tiers, a.loaded.Config.Media, a.log, a.scrub.Text)
	return nil
}

// mediaOptions returns the dependencies of the tools for documents and media.
func (a *App) mediaOptions() media.Options {
	c := a.loaded.Config.Media
	return media.Options{
		Files: a.files, Client: a.web.Client, Marks: a.web.Options.Marks, Documents: a.documents,
		Providers: a.providers, Made: a.generated(), Programs: &program.Runner{Tiers: a.tiers, Slots: make(chan struct{}, max(2, runtime.NumCPU()))},
		Browser:    a.drawing,
		Scratch:    filepath.Join(a.data, "media"),
		Transcribe: c.Transcribe.Command, Speak: c.Speech.Command, Languages: c.Languages,
	}
}

// openDrawing makes the browsers that draw diagrams, which reach no host. None is started
// yet.
func (a *App) openDrawing(context.Context) (err error) {
	c := a.loaded.Config.Web.Browser
	a.drawing, err = browser.New(browser.Options{
		Tiers: a.tiers, Path: c.Path, Insecure: c.Insecure, Sessions: maxDrawing, PerCaller: 1, Idle: drawingIdle, Log: a.log,
		Proxy: func(context.Context, func(string, error)) (browser.Proxy, error) { return noNetwork{}, nil },
	})
	if err == nil {
		a.onClose(a.drawing.Close)
	}
	return err
}

const (
	maxDrawing  = 2 // browsers that draw
	drawingIdle = 2 * time.Minute
)

// noNetwork is a proxy that closes all connections.
type noNetwork struct{}

// Serve closes all connections to l, until ctx ends.
func (noNetwork) Serve(ctx context.Context, l net.Listener) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	for {
		conn, err := l.Accept()
		if err != nil {
			return l.Close()
		}
		conn.Close()
	}
}

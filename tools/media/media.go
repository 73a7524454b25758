// Package media has the tools that read documents and media, and make them. It knows the
// arguments and results of these tools.
//
// Some work is done on this machine: package internal/document reads documents, package
// internal/picture shows pictures to the client's own model, package chart draws charts, and
// ffmpeg, tesseract and other programs work on files in sandboxes of their own. The providers
// that the operator has set up, in package provider, do the rest. Package generated saves the
// made files.
//
// Begin with [Tools], then readimage.go.
package media

import (
	"context"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// The groups of the tools.
const (
	groupRead = "media_read"
	groupMake = "media_gen"
)

// Options are the dependencies of the tools. Without them the tools can only be listed.
type Options struct {
	Files     workspace.Files
	Made      generated.Files
	Client    outbound.Client // for URLs
	Marks     tool.Marks
	Documents *document.Service
	Programs  *program.Runner
	Providers *provider.Providers
	Browser   Browser // for diagrams; without a network
	Seen      Versions
	Scratch   string // a private directory for files that programs read
	// Transcribe and Speak are programs of the operator, with their arguments. {file},
	// {language} and {voice} are replaced. Speak reads the text from stdin and writes sound
	// to stdout.
	Transcribe, Speak []string
	Languages         []string // of text in pictures, as tesseract names them
}

// Versions are the versions of files that sessions have read or written: the Seen of package tools/fs.
type Versions interface {
	Version(c tool.Caller, name string) (version string, ok bool)
	Note(c tool.Caller, name, version string)
	// Of returns the version of a file.
	Of(content io.ReaderAt, size int64, stamp string) (string, error)
}

// A Browser draws diagrams and prints documents.
type Browser interface {
	Do(ctx context.Context, req browser.Request) (browser.View, error)
	Print(ctx context.Context, html string) ([]byte, error)
}

// Unusable returns the tools that do not work here, because a program is not installed.
func (o Options) Unusable() (names []string) {
	if !has("ffmpeg") {
		names = append(names, readVideo{}.Spec().Name)
		if len(o.Transcribe) == 0 && !o.Providers.Can(wire.Transcription) && !o.Providers.Can(wire.Description) {
			names = append(names, readAudio{}.Spec().Name)
		}
	}
	if len(o.Speak) == 0 && !has("espeak-ng") && !o.Providers.Can(wire.Speech) {
		names = append(names, speak{}.Spec().Name)
	}
	return names
}

// A studio is shared by the tools.
type studio struct {
	Options
	*shared
}

type shared struct {
	images  chan struct{} // holds an element for each picture that is decoded
	drawing chan struct{} // likewise, for each diagram in the browser
}

// maxImages is the number of pictures that are decoded at the same time, since each takes
// much memory.
const maxImages = 2

// Tools returns the tools of the group.
func Tools(o Options) []tool.Tool {
	s := newStudio(o)
	return []tool.Tool{
		tool.Prepared(readDocument{o, o.Documents}),
		tool.Prepared(readImage{s}),
		tool.Prepared(readAudio{s}),
		tool.Prepared(readVideo{s}),
		tool.Prepared(createImage{s}),
		tool.New(writeDocument{s, o.Documents}),
		tool.Prepared(speak{s}),
	}
}

func newStudio(o Options) studio {
	return studio{o, &shared{images: make(chan struct{}, maxImages), drawing: make(chan struct{}, 1)}}
}

// Package readers lists the readers of all formats. Only the process that reads documents
// imports it, since readers are large. A new format is one line in Handlers.
package readers

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/archive"
	"github.com/mcp-tools/mcp-tools/internal/document/plain"
)

// Handlers returns the handlers of all formats.
func Handlers() map[document.Format]document.Handler {
	return map[document.Format]document.Handler{
		document.ZIP:  {Read: archive.ReadZIP, Open: archive.OpenZIP},
		document.TAR:  {Read: archive.ReadTAR, Open: archive.OpenTAR},
		document.Text: {Read: plain.Read},
	}
}

// Main is the main function of the process that reads documents; args come after
// document.ChildArg. It returns the exit code.
func Main(args []string) int {
	return document.Main(args, document.Readers{Handlers: Handlers(), Compile: Compile})
}

// Compile fills dir with compiled WebAssembly, which Source.Compiled names later. It runs
// once for each version of the program, in a process that gets no document. A new module
// is one line here.
func Compile(ctx context.Context, dir string) error {
	for _, fill := range []func(ctx context.Context, dir string) error{} {
		if err := fill(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

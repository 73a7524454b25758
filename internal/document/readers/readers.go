// Package readers lists the readers of all formats. Only the process that reads documents
// imports it, since readers are large. A new format is one line in Handlers.
package readers

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// Handlers returns the handlers of all formats.
func Handlers() map[document.Format]document.Handler {
	return map[document.Format]document.Handler{}
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

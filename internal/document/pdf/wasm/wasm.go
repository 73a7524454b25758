// Package wasm has PDFium in WebAssembly, as the Go module github.com/klippa-app/go-pdfium
// v1.19.0 publishes it (webassembly/pdfium.wasm; PDFium has the Apache license 2.0, the module
// the MIT license). It is compressed, to save 3 MB of the binary, and read only when a PDF is.
// It knows nothing about PDFs. Begin with [Module].
package wasm

import (
	"compress/gzip"
	"embed"
	"io"
)

//go:embed pdfium.wasm.gz
var files embed.FS

// Module returns the module.
func Module() ([]byte, error) {
	compressed, err := files.Open("pdfium.wasm.gz")
	if err != nil {
		return nil, err
	}
	defer compressed.Close()
	r, err := gzip.NewReader(compressed)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

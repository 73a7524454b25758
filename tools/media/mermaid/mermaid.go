// Package mermaid has the script of Mermaid 11.17.2. The script draws diagrams. It is published
// in the npm package mermaid (dist/mermaid.min.js, MIT license). It is compressed and read only
// when a diagram is drawn. Begin with [Script].
package mermaid

import (
	"bytes"
	"compress/gzip"
	"embed"
	"io"
)

//go:embed mermaid.min.js.gz
var files embed.FS

// Script returns the script. It sets the global variable mermaid.
func Script() (string, error) {
	compressed, err := files.ReadFile("mermaid.min.js.gz")
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(bytes.NewReader(compressed))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(r)
	return string(text), err
}

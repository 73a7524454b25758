// Prepare fills a directory with compiled PDFium. Tests with the race detector run it, because
// they would take a minute for it themselves.
package main

import (
	"context"
	"log"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/document/pdf"
)

func main() {
	if err := pdf.Prepare(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

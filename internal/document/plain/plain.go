// Package plain reads text that is of no other format. It knows encodings, and nothing of
// what the text says. Begin with Read.
package plain

import (
	"context"
	"io"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/page"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// Read returns the text in UTF-8.
func Read(_ context.Context, src document.Source) (*document.Document, error) {
	most := int64(src.Limits.Text)
	if src.Size > most {
		return nil, document.Errorf(document.ErrTooBig, "the text has %s, the maximum is %s; read it with read_file",
			text.Bytes(src.Size), text.Bytes(most))
	}
	data, err := io.ReadAll(src.Reader())
	if err != nil {
		return nil, err
	}
	return &document.Document{Parts: []document.Part{{Number: 1, Markdown: page.Decode(data, "text/plain")}}}, nil
}

// Package plain reads text of no other format. It knows encodings, and nothing of the meaning
// of the text. Begin with Read.
package plain

import (
	"context"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/page"
	"github.com/mcp-tools/mcp-tools/internal/text"
)

// partSize is the size of a part of a long text in bytes: a caller gets some of them at once, and
// not the whole text.
const partSize = 256 << 10

// Read returns the text in UTF-8. A long text has several parts, each of whole lines where lines
// are shorter than that.
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
	whole := page.Decode(data, "text/plain")
	if len(whole) <= 2*partSize {
		return &document.Document{Parts: []document.Part{{Number: 1, Markdown: whole}}}, nil
	}
	d := &document.Document{Unit: "part"}
	for whole != "" {
		part := whole
		if len(part) > partSize {
			part = part[:partSize]
			if end := strings.LastIndexByte(part, '\n'); end > 0 {
				part = part[:end+1]
			} else {
				part = strings.ToValidUTF8(part, "") // cut before a character
			}
		}
		whole = whole[len(part):]
		if d.Total++; src.Pages.Has(d.Total) {
			d.Parts = append(d.Parts, document.Part{Number: d.Total, Markdown: strings.Clone(part)})
		}
	}
	return d, nil
}

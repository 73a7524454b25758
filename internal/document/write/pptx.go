package write

import (
	"context"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// PPTX fills in a template of a presentation.
func PPTX(ctx context.Context, src document.Source) (*document.Written, error) {
	s, err := decode(src)
	if err != nil {
		return nil, err
	}
	return fill(ctx, s, "pptx")
}

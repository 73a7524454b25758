package write

import (
	"bufio"
	"errors"
	"io"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

func TestRowsAreBounded(t *testing.T) {
	b := &book{ctx: t.Context(), out: bufio.NewWriter(io.Discard), rowReader: rowReader{row: maxRows - 1}}
	if err := b.add([]cell{{Value: "the last"}}, false); err != nil {
		t.Errorf("row %d: %v", b.row, err)
	}
	if err := b.add([]cell{{Value: "one more"}}, false); !errors.Is(err, document.ErrTooBig) {
		t.Errorf("row %d: %v", b.row, err)
	}
}

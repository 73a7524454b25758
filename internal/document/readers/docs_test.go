package readers

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/golden"
)

// TestGoldenFormats writes the table of formats in docs/documents.md.
func TestGoldenFormats(t *testing.T) {
	var rows [][3]string
	var names []string
	for _, h := range Formats() {
		if h.Kind == "" {
			continue
		}
		row := [3]string{string(h.Format), h.Kept, cmp.Or(h.Needs, "nothing")}
		at := len(rows)
		for i, other := range rows {
			if other[1] == row[1] && other[2] == row[2] {
				at = i
			}
		}
		if at == len(rows) {
			rows, names = append(rows, row), append(names, row[0])
			continue
		}
		names[at] += ", " + row[0]
	}
	var b strings.Builder
	b.WriteString("\n| format | what is kept | needs |\n|---|---|---|\n")
	for i, row := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", names[i], row[1], row[2])
	}
	golden.CheckPart(t, filepath.Join("..", "..", "..", "docs", "documents.md"), "formats", b.String())
}

package plain

import (
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// TestALongTextHasParts reads a part of a long text, and all of it.
func TestALongTextHasParts(t *testing.T) {
	text := strings.Repeat("a line of the text\n", 100_000)
	src := document.Source{Name: "a.txt", Data: strings.NewReader(text), Size: int64(len(text)),
		Limits: document.DefaultLimits()}
	d, err := Read(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, p := range d.Parts {
		all.WriteString(p.Markdown)
	}
	if all.String() != text || d.Unit != "part" || d.Total != len(d.Parts) {
		t.Errorf("%d bytes in %d parts of %d", all.Len(), len(d.Parts), d.Total)
	}
	src.Pages = document.Ranges{{First: 2, Last: 3}}
	if d, err = Read(t.Context(), src); err != nil || len(d.Parts) != 2 || d.Parts[0].Number != 2 {
		t.Errorf("%d parts, %v", len(d.Parts), err)
	}
	src.Data, src.Size, src.Pages = strings.NewReader("short"), 5, nil
	if d, err = Read(t.Context(), src); err != nil || d.Unit != "" || d.Parts[0].Markdown != "short" {
		t.Errorf("%+v, %v", d, err)
	}
}

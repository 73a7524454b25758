package readers_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// checkWhole reads a PDF of more pages than one call of read_document shows.
func checkWhole(t *testing.T, s *document.Service) {
	t.Helper()
	const pages = 12
	objects := []string{"<</Type/Catalog/Pages 2 0 R>>", "", "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"}
	var kids []string
	for i := range pages {
		content := fmt.Sprintf("BT /F 12 Tf 100 700 Td (%s) Tj ET", strings.Repeat(string(rune('a'+i)), 8))
		kids = append(kids, fmt.Sprintf("%d 0 R", len(objects)+1))
		objects = append(objects,
			fmt.Sprintf("<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F 3 0 R>>>>/Contents %d 0 R>>", len(objects)+2),
			fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(content), content))
	}
	objects[1] = fmt.Sprintf("<</Type/Pages/Kids[%s]/Count %d>>", strings.Join(kids, " "), pages)
	data := pdfOf(objects...)
	digest, err := document.Digest(t.Context(), bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	r := document.Request{Name: "a.pdf", Content: bytes.NewReader(data), Size: int64(len(data))}
	got, err := s.Whole(t.Context(), r, digest, 2*time.Minute, func() error { return nil })
	if err != nil || got.Unit != "page" || len(got.Parts) != pages || got.Parts[11].Number != 12 ||
		!strings.Contains(got.Parts[11].Markdown, "llllllll") {
		t.Errorf("%+v, %v", got.Document, err)
	}
	refused := errors.New("not now")
	if _, err := s.Whole(t.Context(), r, digest, time.Minute, func() error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	if !s.Searched("b/A.PDF") || slices.ContainsFunc([]string{"a.go", "a.html", "a.csv", "a.zip", "pdf"}, s.Searched) {
		t.Error("another kind of file is searched as a document")
	}
}

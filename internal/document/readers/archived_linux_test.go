package readers_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
)

// TestPDFInArchive reads a PDF that is a member of an archive. The process that reads compiles PDFium, which takes minutes
// with the race detector, so that the test is run without it.
func TestPDFInArchive(t *testing.T) {
	if raceDetector {
		out, err := exec.CommandContext(t.Context(), "go", "test", "-race=false", "-vet=off", "-run", "^TestPDFInArchive$", ".").CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	page := onePage("", []byte("BT /F 12 Tf 100 700 Td (words in the archive) Tj ET"))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	err := w.WriteHeader(&tar.Header{Name: "sub/a.pdf", Mode: 0o600, Size: int64(len(page))})
	if err == nil {
		_, err = w.Write(page)
	}
	if err == nil {
		err = w.Close()
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	zipped := zipOf(t, "sub/a.pdf", string(page))
	eachSandbox(t, func(t *testing.T, s *document.Service) {
		for name, data := range map[string][]byte{"z.zip": zipped, "z.tgz": packed.Bytes()} {
			got, err := read(t.Context(), s, name, data, "sub/a.pdf")
			if err != nil || !strings.Contains(textOf(got), "words in the archive") {
				t.Errorf("%s: %q, %v", name, textOf(got), err)
			}
		}
		got, err := read(t.Context(), s, "outer.zip", zipOf(t, "z.zip", string(zipped)), "z.zip", "sub/a.pdf")
		if err != nil || !strings.Contains(textOf(got), "words in the archive") {
			t.Errorf("in two archives: %q, %v", textOf(got), err)
		}
		content, err := json.Marshal(write.Source{From: [][]byte{page, page}})
		if err != nil {
			t.Fatal(err)
		}
		made, err := s.Write(t.Context(), document.PDF, content)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := read(t.Context(), s, "joined.pdf", made.Content); err != nil || got.Total != 2 {
			t.Errorf("the joined file has %d pages: %v", got.Total, err)
		}
		checkWhole(t, s) // here, because each service compiles its reader of PDF once
	})
}

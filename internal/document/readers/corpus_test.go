package readers

import (
	"archive/zip"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/golden"
)

const corpus = "testdata/corpus"

// load returns the name and the bytes of a file of the corpus. A file .txtar is a zip file
// as text.
func load(t testing.TB, path string) (name string, data []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name, isArchive := strings.CutSuffix(filepath.Base(path), ".txtar")
	if !isArchive {
		return name, data
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, f := range txtar.Parse(data).Files {
		w, err := z.Create(f.Name)
		if err == nil {
			_, err = w.Write(bytes.TrimSuffix(f.Data, []byte("\n")))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return name, b.Bytes()
}

// read reads bytes as Service does, in this process.
func read(t testing.TB, name string, data []byte, change func(*document.Source)) (*document.Document, error) {
	t.Helper()
	src := document.Source{
		Name: name, Data: bytes.NewReader(data), Size: int64(len(data)), Limits: document.DefaultLimits(),
		OCR: document.OCROff,
	}
	if change != nil {
		change(&src)
	}
	format, err := Formats().Detect(src.Data, src.Size, name)
	if err != nil {
		t.Fatal(err)
	}
	h := Formats().Of(format)
	if h.Read == nil {
		t.Fatalf("%s is %q, which has no reader", name, format)
	}
	return h.Read(t.Context(), src)
}

// loadText returns the bytes of a file of the corpus as they are.
func loadText(t testing.TB, path string) (name string, data []byte) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Base(path), data
}

func files(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob(corpus + "/*")
	if err != nil || len(all) == 0 {
		t.Fatalf("the corpus is missing: %v", err)
	}
	return all
}

// TestGoldenCorpus compares all files of the corpus with what they were read as. They were
// made by hand, by LibreOffice 7.4 from rich.fodt, talk.fodp and ledger.fods, and by
// docx.js, PptxGenJS and ExcelJS.
func TestGoldenCorpus(t *testing.T) {
	for _, path := range files(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			name, data := load(t, path)
			doc, err := read(t, name, data, nil)
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, "testdata/golden/"+filepath.Base(path)+".md", []byte(shown(doc)))
		})
	}
}

func shown(doc *document.Document) string {
	var b strings.Builder
	fmt.Fprintf(&b, "title: %s\ntotal: %d %s\n", doc.Title, doc.Total, doc.Unit)
	for _, p := range doc.Pictures {
		fmt.Fprintf(&b, "picture: %s %s %d, part %d\n", p.Name, p.Type, p.Size, p.Page)
	}
	for _, m := range doc.Members {
		fmt.Fprintf(&b, "member: %s %s %d\n", m.Name, m.Type, m.Size)
	}
	for _, n := range doc.Notes {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	for _, p := range doc.Parts {
		fmt.Fprintf(&b, "=== %d %s\n%s\n", p.Number, p.Name, p.Markdown)
	}
	return b.String()
}

package readers_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

func TestSlidesAreReadBack(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 20, 10))); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("- a line of a long list\n", 60)
	rows := "| a | b |\n|---|---|\n" + strings.Repeat("| 1 | 2 |\n", 20)
	code := "~~~\n" + strings.Repeat("x = 1\n", 11) + "~~~\n"
	coded := "```\n" + strings.Repeat("x = 1\n", 11) + "```"
	for _, test := range []struct{ name, in, want string }{
		{"code above a table", "# A\n\n" + code + rows[:70], coded + "\n~~\n# A\n\n| a | b |"},
		{"code below text", "# A\n\n" + strings.Repeat("text\n\n", 8) + code, "text\n~~\n# A\n\n" + coded},
		{"code beside a picture, above a table", "# A\n\n![a box](box.png)\n\n" + strings.ReplaceAll(code, "x = 1", strings.Repeat("x", 80)) + rows[:70],
			strings.ReplaceAll(coded, "x = 1", strings.Repeat("x", 80)) + "\n~~\n# A\n\n![a box]"},
		{"code with blanks", "# A\n\n~~~py\nif x:\n    y = \"``\"\n\n\n    z\n~~~\n\ntext `z`\n\n- `item`", "# A\n\n```\nif x:\n    y = \"``\"\n\n\n    z\n```\n\ntext z\n\n- item"},
		{"code that fits no slide", "# A\n\n" + strings.ReplaceAll(code, "x = 1\n", strings.Repeat("y\n", 10)), "y\n```\n~~\n# A\n\n```\ny"},
		{"a slide for each heading", "# A\n\none\n\n## B\n\ntwo", "# A\n\none\n~~\n# B\n\ntwo"},
		{"a title and an author", "---\ntitle: T\nauthor: Ann\n---\n# A", "# T\n\nAnn\n~~\n# A"},
		{"a deeper heading", "# A\n\n### B\n\ntext", "# A\n\n**B**\n\ntext"},
		{"a rule", "# A\n\none\n\n---\n\ntwo", "# A\n\none\n~~\n# A\n\ntwo"},
		{"lists", "# A\n\n- one\n  - two\n\n1. three\n2. four", "# A\n\n- one\n  - two\n1. three\n2. four"},
		{"marks", "# A *b*\n\n**bold** and *italic* [link](https://example.com/a?b=1&c=2)", "# A *b*\n\n**bold** and *italic* [link](https://example.com/a?b=1&c=2)"},
		{"a table", "# A\n\n| a | b |\n|---|---|\n| 1 | 2 |", "# A\n\n| a | b |\n| --- | --- |\n| 1 | 2 |"},
		{"notes", "# A\n\none\n\n<!-- say hello -->\n\nNotes: and smile", "# A\n\none\n\n> Notes: say hello"},
		{"a picture", "# A\n\n![a box](box.png)", "# A\n\n![a box](image1.png)"},
		{"a picture that is missing", "# A\n\n![a box](none.png)", "# A\n\n*a box*"},
		{"characters of XML", "# 1 &lt; 2\n\n3 & 4", "# 1 < 2\n\n3 & 4"},
		{"text that does not fit", "# A\n\n" + long, "- a line of a long list\n~~\n# A"},
		{"a table that does not fit", "# A\n\n" + rows, "| 1 | 2 |\n~~\n# A\n\n| a | b |"},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, err := written(t, document.PPTX, write.Source{Markdown: test.in, Pictures: map[string][]byte{"box.png": picture.Bytes()}})
			if err != nil {
				t.Fatal(err)
			}
			got := flat(readBack(t, document.PPTX, made.Content))
			if !strings.Contains(got, flat(test.want)) || strings.Count(got, "a line of") != strings.Count(test.in, "a line of") || strings.Count(got, "| 1 |") != strings.Count(test.in, "| 1 |") {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if _, err := written(t, document.PPTX, write.Source{Markdown: strings.Repeat("# A\n\n", 600)}); !errors.Is(err, document.ErrTooBig) {
		t.Errorf("600 slides: %v", err)
	}
}

func TestPresentationsAreFilledIn(t *testing.T) {
	from, err := written(t, document.PPTX, write.Source{Markdown: "# {{title}}\n\n- {{points}}\n\n| name | price |\n|---|---|\n| {{items.name}} | {{items.price}} |\n\n<!-- {{note}} -->"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := written(t, document.PPTX, write.Source{From: [][]byte{from.Content},
		Values: json.RawMessage(`{"title":"Plans & ideas","points":["one","two"],"items":[{"name":"tea","price":1},{"name":"milk","price":2}],"note":"smile"}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := "# Plans & ideas\n\n- one\n- two\n\n| name | price |\n| --- | --- |\n| tea | 1 |\n| milk | 2 |\n\n> Notes: smile"
	if got := flat(readBack(t, document.PPTX, made.Content)); got != flat(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestOfficeOpensWhatIsWritten converts documents with LibreOffice.
func TestOfficeOpensWhatIsWritten(t *testing.T) {
	office := needtest.Program(t, "soffice")
	markdown := "---\ntitle: T\n---\n# Heading\n\ntext with `code` and [a link](https://example.com)\n\n- one\n  - two\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nNoted[^1].\n\n[^1]: A footnote.\n\n<!-- note -->"
	dir := t.TempDir()
	var files []string
	for i, one := range []struct {
		format document.Format
		source write.Source
	}{
		{document.DOCX, write.Source{Markdown: markdown}}, {document.PPTX, write.Source{Markdown: markdown}},
		{document.XLSX, write.Source{Rows: `[["Heading","b"],[1,{"formula":"=A2*2"}]]`}},
		{document.XLSX, write.Source{From: [][]byte{workbook(t)}, Values: json.RawMessage(`{"A1":"Heading"}`)}},
	} {
		made, err := written(t, one.format, one.source)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.%s", i, one.format)))
		if err := os.WriteFile(files[i], made.Content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"--headless", "--norestore", "-env:UserInstallation=file://" + dir + "/profile", "--convert-to", "pdf", "--outdir", dir}, files...)
	out, err := exec.CommandContext(t.Context(), office, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for i := range files {
		if content, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%d.pdf", i))); err != nil || !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("%s was not opened: %v\n%s", files[i], err, out)
		}
	}
}

package readers_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
)

// written makes a document in this process.
func written(t testing.TB, f document.Format, s write.Source) (*document.Written, error) {
	t.Helper()
	content, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return readers.Formats().Of(f).Write(t.Context(), document.Source{Data: bytes.NewReader(content), Size: int64(len(content))})
}

// readBack reads a document that was made, in this process, and returns its text.
func readBack(t testing.TB, f document.Format, content []byte) string {
	t.Helper()
	src := document.Source{Name: "it." + string(f), Data: bytes.NewReader(content), Size: int64(len(content)),
		Limits: document.DefaultLimits()}
	got, err := readers.Formats().Detect(src.Data, src.Size, src.Name)
	if err != nil || got != f {
		t.Fatalf("it is taken for %q, %v", got, err)
	}
	d, err := readers.Formats().Of(f).Read(t.Context(), src)
	if err != nil {
		t.Fatal(err)
	}
	var parts []string
	for _, p := range d.Parts {
		parts = append(parts, strings.TrimSpace(p.Markdown))
	}
	return strings.Join(parts, "\n~~\n")
}

// TestWrittenDocumentsAreReadBack writes Markdown and reads the same.
func TestWrittenDocumentsAreReadBack(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"paragraphs", "one\n\ntwo", "one\n\ntwo"},
		{"a soft break", "one\ntwo", "one two"},
		{"headings", "# A\n\n## B\n\n### C\n\ntext", "# A\n\n## B\n\n### C\n\ntext"},
		{"bold and italic", "a **bold** and *italic* word", "a **bold** and *italic* word"},
		{"strikethrough", "a ~~wrong~~ word", "a ~~wrong~~ word"},
		{"code in a line", "call `f(x)` now", "call `f(x)` now"},
		{"a link", "see [the page](https://example.com/a?b=1&c=2)", "see [the page](https://example.com/a?b=1&c=2)"},
		{"bullets", "- one\n- two", "- one\n- two"},
		{"nested bullets", "- one\n  - two\n- three", "- one\n  - two\n- three"},
		{"numbers", "1. one\n2. two", "1. one\n2. two"},
		{"two lists of numbers", "1. one\n\ntext\n\n1. again", "1. one\n\ntext\n\n1. again"},
		{"a table", "| a | b |\n|---|---|\n| 1 | 2 |", "| a | b |\n| --- | --- |\n| 1 | 2 |"},
		{"a short row", "| a | b |\n|---|---|\n| 1 |", "| a | b |\n| --- | --- |\n| 1 |  |"},
		{"characters of XML", "1 &lt; 2 & \"3\"", "1 < 2 & \"3\""},
		{"other scripts", "Größe 北京 🎉", "Größe 北京 🎉"},
		{"a title", "---\ntitle: Report\nauthor: Ann\npage: letter landscape\n---\ntext", "# Report\n\nAnn\n\ntext"},
		{"characters that no XML has", "a\x01b", "a\ufffdb"},
	} {
		for _, f := range []document.Format{document.DOCX, document.HTML} {
			t.Run(test.name+" "+string(f), func(t *testing.T) {
				made, err := written(t, f, write.Source{Markdown: test.in})
				if err != nil {
					t.Fatal(err)
				}
				got := readBack(t, f, made.Content)
				if flat(got) != flat(test.want) {
					t.Errorf("got %q, want %q", got, test.want)
				}
			})
		}
	}
}

// TestFootnotesAreReadBack writes footnotes, one with two marks, and reads them.
func TestFootnotesAreReadBack(t *testing.T) {
	const in = "# A\n\nfirst[^x] second[^y] again[^x] none[^z]\n\n[^y]: The **second** [note](https://example.com/a).\n[^x]: The first.\n"
	for format, want := range map[document.Format][]string{
		document.DOCX: {"first[^1] second[^2] again", "[^1]: The first.", "[^2]: The **second** [note](https://example.com/a).", `none\[^z]`},
		document.HTML: {"first", "The first.", "The **second** [note](https://example.com/a)."},
		document.PPTX: {`first[1] second[2] again[1]`, `[1] The first.`, `[2] The **second** [note](https://example.com/a).`},
	} {
		made, err := written(t, format, write.Source{Markdown: in})
		if err != nil {
			t.Fatal(err)
		}
		got := readBack(t, format, made.Content)
		for _, words := range want {
			if !strings.Contains(got, words) {
				t.Errorf("%s has no %q:\n%s", format, words, got)
			}
		}
	}
}

// flat removes what the readers write in different ways that mean the same.
func flat(text string) string {
	text = strings.NewReplacer("**", "*", "_", "*", `\<`, "<", "&lt;", "<", `\&`, "&", "&amp;", "&", "\x01", "\ufffd", "\u0001", "\ufffd").Replace(text)
	return strings.NewReplacer("|---|---|", "| --- | --- |").Replace(strings.TrimSpace(text))
}

// TestWrittenWorkbooksAreReadBack writes rows and reads the values as they are shown.
func TestWrittenWorkbooksAreReadBack(t *testing.T) {
	head := "| a | b |\n| --- | --- |\n"
	for _, test := range []struct{ name, in, want string }{
		{"lists", `[["a","b"],["x",1.5]]`, head + "| x | 1.5 |"},
		{"objects", `[{"a":"x","b":true},{"b":false}]`, head + "| x | TRUE |\n|  | FALSE |"},
		{"CSV", "a,b\nx,3", head + "| x | 3 |"},
		{"semicolons", "a;b\nx;3,5", head + "| x | 3,5 |"},
		{"zeros before a number", "a,b\n007,1", head + "| 007 | 1 |"},
		{"formats", `[["a","b"],[{"value":0.256,"format":"0.0%"},{"value":1234.5,"format":"#,##0.00"}]]`,
			head + "| 25.6% | 1,234.50 |"},
		{"dates", `[["a","b"],["2026-11-28","2026-11-28T10:30:00"]]`, head + "| 2026-11-28 | 2026-11-28 10:30:00 |"},
		{"no date", `[["a","b"],["2026-13-28","1800-01-01"]]`, head + "| 2026-13-28 | 1800-01-01 |"},
		{"sheets", `{"One":[["a","b"],[1,2]],"Two":[["a","b"],[3,4]]}`, head + "| 1 | 2 |\n~~\n" + head + "| 3 | 4 |"},
		{"text like formulas", "a,b\n=1+1,@x", head + "| =1+1 | @x |"},
		{"characters of XML", `[["a","b"],["<&>","é"]]`, head + `| <&> | é |`},
	} {
		t.Run(test.name, func(t *testing.T) {
			made, err := written(t, document.XLSX, write.Source{Rows: test.in})
			if err != nil {
				t.Fatal(err)
			}
			got := readBack(t, document.XLSX, made.Content)
			if flat(strings.ReplaceAll(got, `\`, "")) != flat(strings.ReplaceAll(test.want, `\`, "")) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// partOf returns a part of a zip file.
func partOf(t *testing.T, content []byte, name string) string {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	f, err := z.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOnlyFormulasAreFormulas(t *testing.T) {
	made, err := written(t, document.XLSX, write.Source{Rows: `[["a"],["=HYPERLINK(\"x\")"],{"a":"=2"},["+1"],[{"formula":"=SUM(A1:A2)"}],[{"value":"=3"}]]`})
	if err != nil {
		t.Fatal(err)
	}
	sheet := partOf(t, made.Content, "xl/worksheets/sheet1.xml")
	if strings.Count(sheet, "<f>") != 1 || !strings.Contains(sheet, "<f>SUM(A1:A2)</f>") {
		t.Errorf("formulas: %s", sheet)
	}
	if len(made.Notes) != 1 || !strings.Contains(made.Notes[0], "text that begins with =") {
		t.Errorf("notes: %q", made.Notes)
	}
}

func TestPicturesOfWrittenDocuments(t *testing.T) {
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 20, 10))); err != nil {
		t.Fatal(err)
	}
	s := write.Source{Markdown: "![a box](box.png)\n\n![far](https://example.com/x.png) ![bad](bad.png)",
		Pictures: map[string][]byte{"box.png": picture.Bytes(), "bad.png": []byte("no picture")}}
	for _, f := range []document.Format{document.DOCX, document.HTML} {
		made, err := written(t, f, s)
		if err != nil {
			t.Fatal(err)
		}
		if len(made.Notes) != 2 {
			t.Errorf("%s: notes %q", f, made.Notes)
		}
		if f == document.HTML {
			if page := string(made.Content); strings.Contains(page, "example.com") || !strings.Contains(page, "data:image/png;base64,") {
				t.Errorf("the page is %s", page)
			}
			continue
		}
		if text := readBack(t, f, made.Content); !strings.Contains(text, "![a box](image1.png)") || strings.Contains(text, "example.com") {
			t.Errorf("the text is %q", text)
		}
	}
}

// TestLinksOfPagesAreHarmless looks for links that run scripts, or that open files.
func TestLinksOfPagesAreHarmless(t *testing.T) {
	made, err := written(t, document.HTML, write.Source{Markdown: "<javascript:alert(1)> <ftp://example.com/x> [a](javascript:alert(2)) [b](file:///etc/passwd) [c](data:text/html,x) " +
		"[d](JAVASCRIPT:alert(3)) [e][e] [f](#part) [g](mailto:a@example.com) <https://example.com/x>\n\n[e]: vbscript:x"})
	if err != nil {
		t.Fatal(err)
	}
	page := string(made.Content)
	for _, scheme := range []string{"javascript:", "file:", "data:", "vbscript:", "ftp:"} {
		if strings.Contains(strings.ToLower(page), `href="`+scheme) {
			t.Errorf("a link has the scheme %s: %s", scheme, page)
		}
	}
	for _, want := range []string{`href="#part"`, `href="mailto:a@example.com"`, `href="https://example.com/x"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in %s", want, page)
		}
	}
}

// TestDeepMarkdownIsWritten writes quotes and lists that are nested without end.
func TestDeepMarkdownIsWritten(t *testing.T) {
	for _, in := range []string{strings.Repeat(">", 50_000) + "x", strings.Repeat("- ", 20_000) + "x", strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000)} {
		for _, f := range []document.Format{document.DOCX, document.HTML, document.PPTX} {
			if _, err := written(t, f, write.Source{Markdown: in}); err != nil {
				t.Errorf("%s of %.10q: %v", f, in, err)
			}
		}
	}
}

func TestContentThatCannotBeWritten(t *testing.T) {
	for _, test := range []struct {
		name   string
		format document.Format
		source write.Source
		kind   document.Kind
	}{
		{"an unknown page size", document.DOCX, write.Source{Markdown: "---\npage: b17\n---\nx"}, document.ErrBroken},
		{"front matter without an end", document.DOCX, write.Source{Markdown: "---\ntitle: x\n"}, document.ErrBroken},
		{"no rows", document.XLSX, write.Source{}, document.ErrBroken},
		{"half of JSON", document.XLSX, write.Source{Rows: `[["a"],["b"`}, document.ErrBroken},
		{"a row that is a number", document.XLSX, write.Source{Rows: `[1]`}, document.ErrBroken},
		{"a cell with an unknown key", document.XLSX, write.Source{Rows: `[[{"macro":"x"}]]`}, document.ErrBroken},
		{"a list in a cell", document.XLSX, write.Source{Rows: `[[[1]]]`}, document.ErrBroken},
		{"a key too many", document.XLSX, write.Source{Rows: `[{"a":1},{"b":2}]`}, document.ErrBroken},
		{"a huge number", document.XLSX, write.Source{Rows: `[[1e999]]`}, document.ErrBroken},
		{"two sheets of one name", document.XLSX, write.Source{Rows: `{"a":[],"A":[]}`}, document.ErrBroken},
		{"too many columns", document.XLSX, write.Source{Rows: strings.Repeat(",", 20_000) + "x"}, document.ErrTooBig},
		{"a long cell", document.XLSX, write.Source{Rows: `["` + strings.Repeat("x", 40_000) + `"]`}, document.ErrBroken},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := written(t, test.format, test.source)
			if !errors.Is(err, test.kind) {
				t.Errorf("got %v, want %s", err, test.kind)
			}
		})
	}
}

// TestWriting makes a document in a process of its own.
func TestWriting(t *testing.T) {
	eachSandbox(t, func(t *testing.T, s *document.Service) {
		made, err := s.Write(t.Context(), document.DOCX, []byte(`{"Markdown":"# Title"}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := readBack(t, document.DOCX, made.Content); got != "# Title" {
			t.Errorf("got %q", got)
		}
		if _, err := s.Write(t.Context(), document.HTML, []byte(`{"Markdown":1}`)); err == nil {
			t.Error("content that is not JSON of the package was written")
		}
	})
}

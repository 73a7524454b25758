package readers

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/md"
)

// small are limits that keep a fuzzed file from taking long.
func small() document.Limits {
	l := document.DefaultLimits()
	l.Part, l.Total, l.Nodes, l.Depth, l.Text = 1<<20, 4<<20, 50_000, 100, 1<<20
	return l
}

// fuzzed reads a file and checks what every reader promises: valid text, or an error for
// the model.
func fuzzed(t *testing.T, format document.Format, name string, data []byte) {
	t.Helper()
	src := document.Source{Name: name, Data: bytes.NewReader(data), Size: int64(len(data)), Limits: small()}
	doc, err := Formats().Of(format).Read(t.Context(), src)
	if err != nil {
		if !errors.As(err, new(*document.Error)) && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%v is no error for the model", err)
		}
		return
	}
	last := 0
	for _, p := range doc.Parts {
		if !utf8.ValidString(p.Markdown) || !utf8.ValidString(p.Name) {
			t.Fatalf("part %d is not valid UTF-8", p.Number)
		}
		if p.Number <= last || p.Number > doc.Total {
			t.Fatalf("part %d of %d follows part %d", p.Number, doc.Total, last)
		}
		last = p.Number
	}
	for _, m := range doc.Members {
		if strings.HasPrefix(m.Name, "/") || slices.Contains(strings.Split(m.Name, "/"), "..") {
			t.Fatalf("the member %q is a path", m.Name)
		}
	}
}

// raw fuzzes a format that is one file.
func raw(f *testing.F, format document.Format, pattern string) {
	f.Helper()
	names, err := filepath.Glob(filepath.Join(corpus, pattern))
	if err != nil || len(names) == 0 {
		f.Fatalf("no seeds: %v", err)
	}
	for _, path := range names {
		if _, data := load(f, path); len(data) < 50_000 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 200_000 {
			fuzzed(t, format, "x", data)
		}
	})
}

func FuzzRTF(f *testing.F)      { raw(f, document.RTF, "*.rtf") }
func FuzzMail(f *testing.F)     { raw(f, document.EML, "*.eml") }
func FuzzMailbox(f *testing.F)  { raw(f, document.MBOX, "*.mbox") }
func FuzzTable(f *testing.F)    { raw(f, document.CSV, "*.[ct]sv") }
func FuzzNotebook(f *testing.F) { raw(f, document.Notebook, "*.ipynb") }
func FuzzHTML(f *testing.F)     { raw(f, document.HTML, "*.html") }
func FuzzWorkbook(f *testing.F) { raw(f, document.XLSX, "*.xlsx") }

// archived fuzzes the XML of a format that is a zip file, as text: mutated bytes of a zip
// file would only fail its checksums.
func archived(f *testing.F, format document.Format, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		names, err := filepath.Glob(filepath.Join(corpus, pattern))
		if err != nil || len(names) == 0 {
			f.Fatalf("no seeds: %v", err)
		}
		for _, path := range names {
			_, data := loadText(f, path)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if len(text) > 200_000 {
			return
		}
		var parts []string
		for part := range strings.SplitSeq("\n"+string(text), "\n-- ") { // txtar.Parse panics on some texts
			if name, content, ok := strings.Cut(part, " --\n"); ok && name != "" && !strings.HasSuffix(name, "/") {
				parts = append(parts, name, content)
			}
		}
		fuzzed(t, format, "x", zipped(t, parts...))
	})
}

func FuzzWord(f *testing.F)       { archived(f, document.DOCX, "*.docx.txtar") }
func FuzzPowerPoint(f *testing.F) { archived(f, document.PPTX, "*.pptx.txtar") }
func FuzzWriter(f *testing.F)     { archived(f, document.ODT, "*.odt.txtar") }
func FuzzCalc(f *testing.F)       { archived(f, document.ODS, "*.ods.txtar") }
func FuzzImpress(f *testing.F)    { archived(f, document.ODP, "*.odp.txtar") }
func FuzzBook(f *testing.F)       { archived(f, document.EPUB, "*.epub.txtar") }
func FuzzSheet(f *testing.F)      { archived(f, document.XLSX, "*.xlsx.txtar") }

// FuzzOutlook fuzzes mails of Outlook.
func FuzzOutlook(f *testing.F) {
	f.Add(outlook(f))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 200_000 {
			fuzzed(t, document.MSG, "x.msg", data)
		}
	})
}

// FuzzInline checks that text in Markdown is valid, and that a cell is one line.
func FuzzInline(f *testing.F) {
	f.Add("a*b_c `d` [x](y) <z> | # 1. \n- x", uint8(3), "https://example.org/")
	f.Fuzz(func(t *testing.T, text string, style uint8, href string) {
		text = strings.ToValidUTF8(text, "")
		var l md.Inline
		l.Text(text, md.Style(style))
		l.Link(text, md.Style(style>>2), strings.ToValidUTF8(href, ""))
		out := l.Markdown()
		if !utf8.ValidString(out) {
			t.Fatalf("%q is not valid", out)
		}
		if cell := md.Cell(out); strings.ContainsAny(cell, "\r\n") {
			t.Fatalf("the cell %q has several lines", cell)
		}
	})
}

package readers

import (
	"archive/zip"
	"bytes"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

func zipWith(t *testing.T, name, content string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create(name)
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err == nil {
		err = z.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestDetect(t *testing.T) {
	for _, test := range []struct {
		name, content string
		want          document.Format
	}{
		{"a.txt", "%PDF-1.4\n", document.PDF},
		{"a.pdf", "\x00\x01junk%PDF-1.4\n", document.PDF},
		{"a.txt", "a text about %PDF-1.4\n", document.Text},
		{"a.pdf", "just text", document.Text},
		{"a.docx", zipWith(t, "a.txt", "x"), document.ZIP},
		{"a.zip", zipWith(t, "[Content_Types].xml", `ContentType="application/vnd.openxmlformats-officedocument.`+
			`wordprocessingml.document.main+xml"`), document.DOCX},
		{"a.zip", zipWith(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet"), document.ODS},
		{"a.zip", zipWith(t, "mimetype", "application/epub+zip\n"), document.EPUB},
		{"a", `{\rtf1 x}`, document.RTF},
		{"a.csv", "a,b\n1,2\n", document.CSV},
		{"a.txt", "a,b\n1,2\n", document.Text},
		{"a.csv", "<!DOCTYPE html><p>x", document.HTML},
		{"a.html", "no tag at all", document.Text},
		{"a.html", "text <b>first</b>", document.HTML},
		{"a", `{"cells": [], "metadata": {}, "nbformat": 4}`, document.Notebook},
		{"a.ipynb", `{"cells": "and nothing else"}`, document.Text},
		{"a", "Return-Path: <a@b>\nFrom: a@b\nSubject: x\n\nbody", document.EML},
		{"a", "From a@b Mon Jan 1 00:00:00 2026\nFrom: a@b\nTo: c@d\n\nbody", document.MBOX},
		{"a.eml", "To do: buy: milk\n\nFrom: here", document.Text},
		{"a.txt", "Subject: one field is no mail\n\nx", document.Text},
		{"a.png", "\x89PNG\r\n\x1a\n...", document.Image},
		{"a.txt", "\x00\x01\x02\x03", document.Unknown},
		{"a", "\x1f\x8b\x08...", document.Gzip},
		{"a.txt", "\xff\xfeh\x00i\x00", document.Text},
		{"a", "", document.Text},
	} {
		got, err := Formats().Detect(bytes.NewReader([]byte(test.content)), int64(len(test.content)), test.name)
		if err != nil || got != test.want {
			t.Errorf("%s, %.40q: %q, %v, want %q", test.name, test.content, got, err, test.want)
		}
	}
}

// TestOfficeTypes checks the media types of all documents of Office.
func TestOfficeTypes(t *testing.T) {
	for word, want := range map[string]document.Format{
		"wordprocessingml.document.main+xml": document.DOCX, "word.document.macroEnabled.main+xml": document.DOCX,
		"wordprocessingml.template.main+xml": document.DOCX, "word.template.macroEnabledTemplate.main+xml": document.DOCX,
		"spreadsheetml.sheet.main+xml": document.XLSX, "excel.sheet.macroEnabled.main+xml": document.XLSX,
		"spreadsheetml.template.main+xml": document.XLSX, "excel.template.macroEnabled.main+xml": document.XLSX,
		"presentationml.presentation.main+xml": document.PPTX, "presentationml.slideshow.main+xml": document.PPTX,
		"powerpoint.presentation.macroEnabled.main+xml": document.PPTX, "presentationml.template.main+xml": document.PPTX,
	} {
		data := []byte(zipWith(t, "[Content_Types].xml", `ContentType="application/vnd.`+word+`"`))
		if got, err := Formats().Detect(bytes.NewReader(data), int64(len(data)), "x"); err != nil || got != want {
			t.Errorf("%s: %q, %v, want %q", word, got, err, want)
		}
	}
}

// TestNames checks the questions about formats that other packages ask.
func TestNames(t *testing.T) {
	s := document.New(document.Options{Formats: Formats()})
	for kind, want := range map[string]string{
		"application/pdf": "a PDF document", "application/epub+zip": "an e-book", "application/zip": "an archive",
		"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "a spreadsheet", "image/png": "",
	} {
		if got := s.TypeName(kind); got != want {
			t.Errorf("%s is %q, want %q", kind, got, want)
		}
	}
	for name, want := range map[string]bool{"a.EML": true, "a/b.csv": true, "c.ipynb": true, "d.txt": false, "e": false} {
		if got := s.TakesName(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

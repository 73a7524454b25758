package document

import (
	"archive/zip"
	"bytes"
	"testing"
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
		want          Format
	}{
		{"a.txt", "%PDF-1.4\n", PDF},
		{"a.pdf", "\x00\x01junk%PDF-1.4\n", PDF},
		{"a.txt", "a text about %PDF-1.4\n", Text},
		{"a.pdf", "just text", Text},
		{"a.docx", zipWith(t, "a.txt", "x"), ZIP},
		{"a.zip", zipWith(t, "[Content_Types].xml", `ContentType="application/vnd.openxmlformats-officedocument.`+
			`wordprocessingml.document.main+xml"`), DOCX},
		{"a.zip", zipWith(t, "mimetype", "application/vnd.oasis.opendocument.spreadsheet"), ODS},
		{"a.zip", zipWith(t, "mimetype", "application/epub+zip\n"), EPUB},
		{"a", `{\rtf1 x}`, RTF},
		{"a.csv", "a,b\n1,2\n", CSV},
		{"a.txt", "a,b\n1,2\n", Text},
		{"a.csv", "<!DOCTYPE html><p>x", HTML},
		{"a.html", "no tag at all", Text},
		{"a.html", "text <b>first</b>", HTML},
		{"a", `{"cells": [], "metadata": {}, "nbformat": 4}`, Notebook},
		{"a.ipynb", `{"cells": "and nothing else"}`, Text},
		{"a", "Return-Path: <a@b>\nFrom: a@b\nSubject: x\n\nbody", EML},
		{"a", "From a@b Mon Jan 1 00:00:00 2026\nFrom: a@b\nTo: c@d\n\nbody", MBOX},
		{"a.eml", "To do: buy: milk\n\nFrom: here", Text},
		{"a.txt", "Subject: one field is no mail\n\nx", Text},
		{"a.png", "\x89PNG\r\n\x1a\n...", Image},
		{"a.txt", "\x00\x01\x02\x03", Unknown},
		{"a", "\x1f\x8b\x08...", Gzip},
		{"a.txt", "\xff\xfeh\x00i\x00", Text},
		{"a", "", Text},
	} {
		got, err := Detect(bytes.NewReader([]byte(test.content)), int64(len(test.content)), test.name)
		if err != nil || got != test.want {
			t.Errorf("%s, %.40q: %q, %v, want %q", test.name, test.content, got, err, test.want)
		}
	}
}

// Package html reads HTML files and the chapters of books. Package page converts the HTML; this
// package adds only the shape of a document. Begin with Read.
package html

import (
	"context"
	"io"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

// Read reads an HTML file. Nothing that the page names is fetched.
func Read(ctx context.Context, src document.Source) (*document.Document, error) {
	body, err := io.ReadAll(io.LimitReader(src.Reader(), src.Limits.Part))
	if err != nil {
		return nil, err
	}
	p, err := page.Read(ctx, body, page.Options{Whole: true})
	if err != nil {
		return nil, err
	}
	doc := &document.Document{Title: p.Title, Total: 1, Parts: []document.Part{{Number: 1, Markdown: p.Text}}}
	if p.Cut {
		doc.Notes = []string{"The page is too large; its end is missing."}
	}
	if p.Hidden.Elements > 0 {
		doc.Notes = append(doc.Notes, "Hidden text was left out.")
	}
	return doc, nil
}

// Looks reports whether a text is HTML: it begins so, or has tags and the name of such a file.
func Looks(t document.Head) bool {
	text := strings.ToLower(t.Text[:min(len(t.Text), 1024)])
	for _, begin := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if strings.HasPrefix(text, begin) {
			return true
		}
	}
	switch t.Ending {
	case ".html", ".htm", ".xhtml":
		return strings.Contains(text, "<")
	}
	return strings.HasPrefix(text, "<?xml") && strings.Contains(text, "<html")
}

package media

import (
	"bytes"
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/browser"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/write"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// direct is a documentWriter that makes documents in this process.
type direct struct{}

func (direct) Write(ctx context.Context, f document.Format, content []byte) (*document.Written, error) {
	src := document.Source{Data: bytes.NewReader(content), Size: int64(len(content))}
	if f == document.HTML {
		return write.HTML(ctx, src)
	}
	return nil, document.Errorf(document.ErrNoReader, "no LibreOffice")
}

// printer is a Browser that prints.
type printer struct {
	html string
	err  error
}

func (*printer) Do(context.Context, browser.Request) (browser.View, error) {
	return browser.View{}, nil
}

func (p *printer) Print(_ context.Context, html string) ([]byte, error) {
	p.html = html
	return []byte("%PDF-printed"), p.err
}

// TestPDFIsPrintedByWhatIsThere makes PDF files with and without a browser.
func TestPDFIsPrintedByWhatIsThere(t *testing.T) {
	gone := tool.Errorf(tool.Unavailable, "no Chromium")
	for name, test := range map[string]struct {
		browser Browser
		writer  documentWriter
		want    string // in the file or the error
	}{
		"a browser":                     {&printer{}, direct{}, "%PDF-printed"},
		"no browser":                    {nil, copier{}, "Markdown"},
		"a browser that does not start": {&printer{err: gone}, copier{}, "Markdown"},
		"neither":                       {&printer{err: gone}, direct{}, "no LibreOffice"},
		"a browser that fails":          {&printer{err: errors.New("crashed")}, direct{}, "crashed"},
	} {
		t.Run(name, func(t *testing.T) {
			files, ctx := workspaceWith(t, nil)
			_, err := writeDocument{newStudio(Options{Files: files, Seen: versions{}, Browser: test.browser}), test.writer}.Do(ctx,
				writeDocumentArgs{Path: "a.pdf", Markdown: "# Title"})
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				f, err := files.Open(ctx, "a.pdf")
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				content := make([]byte, f.Size)
				if _, err := f.ReadAt(content, 0); err != nil {
					t.Fatal(err)
				}
				got = string(content)
			}
			if !strings.Contains(got, test.want) {
				t.Errorf("got %.300q, want %q", got, test.want)
			}
		})
	}
}

// TestChromiumPrints makes a PDF file with Chromium, and a diagram after it in the same browser.
func TestChromiumPrints(t *testing.T) {
	needtest.Program(t, "chromium", "chromium-browser", "google-chrome")
	if err := browser.CheckIsolation(t.Context(), runner().Tiers); err != nil {
		needtest.Lacking(t, "isolation", err.Error())
	}
	r := newRoom(t)
	b, err := browser.Offline(browser.Settings{}, runner().Tiers, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	r.Browser = b
	page, err := direct{}.Write(r.ctx, document.HTML, []byte(`{"Markdown":"---\npage: a5 landscape\n---\n# One\n\nText\n\n# Two"}`))
	if err != nil {
		t.Fatal(err)
	}
	printed, err := b.Print(r.ctx, string(page.Content))
	if err != nil || !bytes.HasPrefix(printed, []byte("%PDF-")) || !bytes.Contains(printed, []byte("/Title (One)")) {
		t.Errorf("%.400q, %v", printed, err)
	}
	if size := regexp.MustCompile(`/MediaBox \[0 0 59[45][\d.]* (419|420)`).Find(printed); size == nil {
		t.Errorf("the page is not A5: %q", regexp.MustCompile(`/MediaBox [^\]]*`).Find(printed))
	}
	v, err := b.Do(r.ctx, browser.Request{Action: browser.Evaluate, Text: "document.documentElement.outerHTML"})
	if err != nil || strings.Contains(v.Page, "One") {
		t.Errorf("the page is still open: %q, %v", v.Page, err)
	}
}

package web

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/page"
)

const pages = "../../testdata/pages"

// TestGoldenTitles shows what stands above each page, and how its text begins.
func TestGoldenTitles(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(pages, "*.html"))
	if err != nil || len(files) < 22 {
		t.Fatal("pages are missing", len(files), err)
	}
	from := &url.URL{Scheme: "https", Host: "www.example.org", Path: "/dir/page.html"}
	var b strings.Builder
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := page.Read(t.Context(), body, page.Options{URL: from})
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(p.Text, "\n")
		fmt.Fprintf(&b, "%s: %q\n%s%s\n\n", filepath.Base(file), p.Title, titleLines(p, "markdown", from), short(first, 80))
	}
	golden.Check(t, filepath.Join(pages, "tops.txt"), []byte(b.String()))
}

func TestTitlesAreToldOnce(t *testing.T) {
	for _, test := range []struct{ title, site, text, format, want string }{
		{"On tides", "", "# On tides\n\nThe sea.", "markdown", ""},
		{"On tides", "", "The sea.", "markdown", "# On tides\n\n"},
		{"On tides", "", "The sea.", "text", "On tides\n\n"},
		{"On tides", "", "On tides\n\nThe sea.", "text", ""},
		{"On tides | The Coast", "", "On tides\n\nThe sea.", "text", "From: The Coast\n\n"},
		{"On tides | The Coast", "The Coast", "# On tides", "markdown", ""},
		{"On tides | The Coast", "Coast", "# On tides", "markdown", "From: Coast · The Coast\n\n"},
		{"The Coast » News » On tides", "", "# On tides", "markdown", "From: The Coast » News\n\n"},
		{"ON  TIDES!", "", "## [On *tides*](https://a.example/x(1))", "markdown", ""},
		{"On tides", "", "![a picture](https://a.example/a.png)\n\n# On tides", "markdown", ""},
		{"Docs | On tides", "", "Docs\n\nThe sea.", "markdown", "# Docs | On tides\n\n"}, // a line is no heading
		{"Sign in · Depot", "", "# Sign in to Depot", "markdown", "# Sign in · Depot\n\n"},
		{"On tides", "", "a\nb\nc\nd\ne\nf\n# On tides", "markdown", "# On tides\n\n"},
		{"梅雨の京都", "", "# 梅雨の京都", "markdown", ""},
		{"!!!", "", "# ???\n\ntext", "markdown", "# !!!\n\n"},
		{"", "", "text", "markdown", ""},
		{" | a", "", "# ![](x)", "markdown", "# | a\n\n"},
	} {
		if got := titleLines(page.Page{Meta: page.Meta{Title: test.title, Site: test.site}, Text: test.text},
			test.format, &url.URL{}); got != test.want {
			t.Errorf("%q above %q: %q, not %q", test.title, test.text, got, test.want)
		}
	}
}

func TestTheCanonicalAddress(t *testing.T) {
	for _, c := range []struct{ own, from, want string }{
		{"https://a.example/x", "https://a.example/x?utm_source=y", "canonical https://a.example/x\n\n"},
		{"https://b.example/x", "https://a.example/x", "canonical https://b.example/x\n\n"},
		{"https://a.example/x", "https://a.example/x", ""},
		{"https://A.example/x/", "http://a.example/x#part", ""},
		{"https://a.example/x?id=2", "https://a.example/x?id=2", ""},
		{"", "https://a.example/x", ""},
		{"mailto:x@a.example", "https://a.example/x", ""},
		{"https://b.example/x\u202e\n\n# forged", "https://a.example/x", ""},
	} {
		from, err := url.Parse(c.from)
		if err != nil {
			t.Fatal(err)
		}
		if got := titleLines(page.Page{Meta: page.Meta{Canonical: c.own}}, "markdown", from); got != c.want {
			t.Errorf("%s read from %s: %q", c.own, c.from, got)
		}
	}
}

func FuzzTitles(f *testing.F) {
	f.Add("On tides | The Coast", "# [On tides](x)")
	f.Add(" - ", "](](")
	f.Fuzz(func(t *testing.T, title, text string) {
		top := titleLines(page.Page{Meta: page.Meta{Title: title}, Text: text}, "markdown", &url.URL{})
		if strings.Count(top, "\n") > 2 {
			t.Errorf("%q has more lines than one", top)
		}
	})
}

// TestPartsDoNotEndWithAHeading cuts texts right behind headings.
func TestPartsDoNotEndWithAHeading(t *testing.T) {
	words := strings.Repeat("words ", 30)
	for text, want := range map[string]string{
		words + "\n\n## Next\n\n" + words + words:     words + "\n\n",
		words + "\n\n# A\n\n## B\n\n" + words + words: words + "\n\n",
		words + "\n\n#tag\n\n" + words + words:        words + "\n\n#tag\n\n",
		"## " + words + "\n\n" + words + words:        "## " + words + "\n\n",
	} {
		if part, end, _ := window(text, 0, len(want)+18); part != want || end != len(want) {
			t.Errorf("%q ends with %q", text, part[max(0, len(part)-20):])
		}
	}
}

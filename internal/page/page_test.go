package page

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/golden"
)

const pages = "../../testdata/pages"

// origin returns the address of the test pages.
func origin(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://www.example.org/dir/page.html?x=1")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read reads a page without an error.
func read(t testing.TB, source string, o Options) Page {
	t.Helper()
	if o.URL == nil {
		o.URL = origin(t)
	}
	p, err := Read(t.Context(), []byte(source), o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestGoldenPages(t *testing.T) {
	files, err := filepath.Glob(pages + "/*.html")
	if err != nil || len(files) < 22 {
		t.Fatal("pages are missing", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".html")
		t.Run(name, func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := read(t, string(body), Options{})
			if strings.Contains(p.Text, "CANARY") || strings.Contains(p.Description, "CANARY") {
				t.Error("hidden text is shown")
			}
			golden.Check(t, filepath.Join(pages, name+".md"), []byte(p.Text+"\n"))
			said := map[string]any{"meta": p.Meta, "hidden": p.Hidden, "main": p.Main, "script": p.Script, "cut": p.Cut}
			text, err := json.MarshalIndent(said, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join(pages, name+".json"), []byte(string(text)+"\n"))
		})
	}
}

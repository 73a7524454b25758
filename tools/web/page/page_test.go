package page

import (
	"encoding/json"
	"flag"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files again")

const pages = "../../../testdata/pages"

// origin is where the pages of the tests came from.
func origin(t testing.TB) *url.URL {
	t.Helper()
	u, err := url.Parse("https://www.example.org/dir/page.html?x=1")
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// read reads a page that no test expects to fail.
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

// golden holds what came out against a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join(pages, name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got, -update writes it):\n%s", name, diff)
	}
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
			golden(t, name+".md", p.Text+"\n")
			said := map[string]any{"meta": p.Meta, "hidden": p.Hidden, "main": p.Main, "script": p.Script, "cut": p.Cut}
			text, err := json.MarshalIndent(said, "", "  ")
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".json", string(text)+"\n")
		})
	}
}

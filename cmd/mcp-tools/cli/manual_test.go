package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestManual formats every page with groff, which warns about what is not a valid page.
func TestManual(t *testing.T) {
	groff := needtest.Program(t, "groff")
	dir := t.TempDir()
	var out, stderr bytes.Buffer
	env := app.Env{Out: &out, Err: &stderr, Getenv: func(string) string { return "" }}
	if code := Run(t.Context(), env, []string{"manual", dir}); code != 0 {
		t.Fatalf("code %d: %s", code, &stderr)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 50 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	text, err := exec.Command(groff, append([]string{"-man", "-Tascii", "-ww", "-P-bcu"}, pages...)...).CombinedOutput()
	if err != nil || bytes.Contains(text, []byte("warning:")) {
		t.Errorf("groff: %v\n%s", err, text)
	}
	for _, want := range []string{
		"mcp-tools-token-create - ", "--workspace value", "mcp-tools connect vscode --project --profile coding",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the pages lack %q", want)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "mcp-tools-serve.1")); err != nil {
		t.Error(err)
	}
}

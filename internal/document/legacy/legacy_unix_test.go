//go:build unix

package legacy

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
)

// programs makes a PATH of scripts.
func programs(t *testing.T, scripts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range scripts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// converted is a reader that returns the file as it is.
func converted(_ context.Context, src document.Source) (*document.Document, error) {
	text, err := io.ReadAll(src.Reader())
	return &document.Document{Parts: []document.Part{{Number: 1, Markdown: string(text)}}}, err
}

func read(t *testing.T, content string) (*document.Document, error) {
	t.Helper()
	r := Reader(document.DOC, document.DOCX, converted, "a package", Program{"catdoc", "-d", "utf-8"},
		Program{"antiword"})
	return r(t.Context(), document.Source{
		Name: "../-x.doc", Data: strings.NewReader(content), Size: int64(len(content)), Limits: document.DefaultLimits(),
	})
}

func TestConverts(t *testing.T) {
	// What follows --outdir is the directory, and then comes the file.
	programs(t, map[string]string{
		"soffice": `while [ "$1" != --outdir ]; do shift; done; read -r line <"$3"; echo "new $line" >"$2/document.docx"`,
		"catdoc":  "echo wrong",
	})
	d, err := read(t, "content\n")
	if err != nil || d.Parts[0].Markdown != "new content\n" || len(d.Notes) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestFailedConversion(t *testing.T) {
	programs(t, map[string]string{"soffice": "echo source file could not be loaded >&2; exit 0"})
	_, err := read(t, "content\n")
	if !errors.Is(err, document.ErrBroken) || !strings.HasSuffix(err.Error(), ": source file could not be loaded") {
		t.Errorf("got %v", err)
	}
}

func TestExtracts(t *testing.T) {
	programs(t, map[string]string{"antiword": `read -r line <"$1"; printf 'text of %s\f\377' "$line"`})
	d, err := read(t, "content\n")
	if err != nil || d.Parts[0].Markdown != "text of content\n\n\ufffd" || len(d.Notes) != 1 {
		t.Errorf("got %+v, %v", d, err)
	}
	programs(t, map[string]string{"catdoc": "echo no idea >&2; exit 1"})
	if _, err := read(t, "content\n"); !errors.Is(err, document.ErrBroken) {
		t.Errorf("got %v", err)
	}
}

func TestNothingInstalled(t *testing.T) {
	programs(t, nil)
	_, err := read(t, "content\n")
	if !errors.Is(err, document.ErrNoReader) || !strings.Contains(err.Error(), "install a package") {
		t.Errorf("got %v", err)
	}
}

package workspace_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

func BenchmarkChange1K(b *testing.B) { benchmarkChange(b, 1<<10) }
func BenchmarkChange5M(b *testing.B) { benchmarkChange(b, 5<<20) }

// benchmarkChange reads a file and writes it back with one byte changed.
func benchmarkChange(b *testing.B, size int) {
	w, ctx, dir := workspacetest.New(b)
	text := bytes.Repeat([]byte("0123456789abcde\n"), size/16)
	if err := os.WriteFile(filepath.Join(dir, "f"), text, 0o600); err != nil {
		b.Fatal(err)
	}
	n := byte(0)
	plan := func(files []*workspace.File) ([]workspace.Change, error) {
		if _, err := files[0].ReadAt(text, 0); err != nil {
			return nil, err
		}
		n++
		text[size/2] = n
		return []workspace.Change{{Path: "f", Content: bytes.NewReader(text)}}, nil
	}
	b.ReportAllocs()
	for b.Loop() {
		if r, err := w.Change(ctx, []string{"f"}, plan); err != nil || r.ID == "" {
			b.Fatal(r, err)
		}
	}
}

package document

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMain also runs the test binary as the process that prepares files.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == ChildArg {
		os.Exit(Main(os.Args[2:], Formats{{Format: PDF, Prepare: func(_ context.Context, dir string) error {
			return os.WriteFile(filepath.Join(dir, "code"), nil, 0o600)
		}}}))
	}
	os.Exit(m.Run())
}

// messages are the messages of the progress of a call.
type messages []string

func (m *messages) Progress(_, _ float64, message string) { *m = append(*m, message) }

// TestPrepared checks that a call says why it waits, and that files are prepared after an upgrade if they were used before it.
func TestPrepared(t *testing.T) {
	dir := t.TempDir()
	s := New(Options{Dir: filepath.Join(dir, "documents")})
	if err := s.Renew(t.Context()); err != nil || s.prepared.complete() != "" {
		t.Fatalf("nobody has read a document, but %q, %v", s.prepared.complete(), err)
	}
	var said messages
	ctx := tool.With(t.Context(), &tool.Running{Report: &said})
	for range 2 {
		if _, err := s.prepared.fill(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if want := "compiling the reader of this format, once for each version of mcp-tools"; !slices.Equal(said, messages{want}) {
		t.Errorf("the call says %q", said)
	}
	if err := os.Rename(s.prepared.dir(), filepath.Join(dir, "documents", "compiled", "earlier")); err != nil {
		t.Fatal(err)
	}
	if err := s.Renew(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(s.prepared.complete(), "code")); err != nil {
		t.Error(err)
	}
}

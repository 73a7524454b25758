package readers_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// TestMain also runs the test binary as a stage and as the process that reads documents.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case kernel.StageArg:
			os.Exit(kernel.Main(os.Args[2:]))
		case document.ChildArg:
			os.Exit(readers.Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// eachSandbox runs a test with the kernel sandbox and without one.
func eachSandbox(t *testing.T, test func(t *testing.T, s *document.Service)) {
	for _, l := range []sandbox.Launcher{&kernel.Launcher{}, &host.Launcher{}} {
		t.Run(l.Name(), func(t *testing.T) {
			if p := l.Probe(t.Context()); !p.Works {
				t.Skip(p.Text)
			}
			test(t, document.New(document.Options{Launchers: []sandbox.Launcher{l}, Dir: t.TempDir()}))
		})
	}
}

// read reads a file with the members that follow it.
func read(ctx context.Context, s *document.Service, name string, data []byte, members ...string) (document.Reading,
	error) {
	return s.Read(ctx, document.Request{
		Name: name, Content: bytes.NewReader(data), Size: int64(len(data)), Members: members, OCR: document.OCRAuto,
	})
}

// zipOf returns a ZIP file of names and contents in turn.
func zipOf(t testing.TB, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func textOf(r document.Reading) string {
	var b strings.Builder
	if r.Document == nil {
		return ""
	}
	for _, p := range r.Parts {
		b.WriteString(p.Markdown)
	}
	return b.String()
}

func TestMembersOfArchives(t *testing.T) {
	eachSandbox(t, func(t *testing.T, s *document.Service) {
		inner := zipOf(t, "deep/d.txt", "the text within")
		outer := zipOf(t, "in.zip", string(inner), "../up.txt", "outside", "a.txt", "beside")
		got, err := read(t.Context(), s, "a.zip", outer)
		if err != nil {
			t.Fatal(err)
		}
		if text := textOf(got); !strings.Contains(text, "- up.txt") || strings.Contains(text, "..") {
			t.Errorf("the listing is %q", text)
		}
		if got, err = read(t.Context(), s, "a.zip", outer, "in.zip", "deep/d.txt"); err != nil {
			t.Fatal(err)
		}
		if text := textOf(got); text != "the text within" {
			t.Errorf("got %q", text)
		}
		if _, err := read(t.Context(), s, "a.zip", outer, "gone.txt"); !errors.Is(err, document.ErrNoMember) {
			t.Errorf("a member that is missing: %v", err)
		}
	})
}

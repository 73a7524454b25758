package readers_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{document.ChildArg: readers.Main})
	os.Exit(m.Run())
}

// eachSandbox runs a test with the kernel sandbox and without one.
func eachSandbox(t *testing.T, test func(t *testing.T, s *document.Service)) {
	for _, l := range []sandbox.Launcher{&kernel.Launcher{}, &host.Launcher{}} {
		t.Run(l.Name(), func(t *testing.T) {
			needtest.Sandbox(t, l)
			test(t, document.New(document.Options{Formats: readers.Formats(), Tiers: sandbox.NewTiers(l), Dir: t.TempDir()}))
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

func TestSecondReadingComesFromTheCache(t *testing.T) {
	dir := t.TempDir()
	count := &counted{Launcher: &host.Launcher{}}
	st := storetest.Open(t, dir)
	service := func() *document.Service {
		return document.New(document.Options{Formats: readers.Formats(), Tiers: sandbox.NewTiers(count), Dir: t.TempDir(),
			Blobs: blob.New(blob.Options{Store: st, Place: blob.NewFiles(filepath.Join(dir, "blobs"))})})
	}
	s := service()
	for range 3 {
		got, err := read(t.Context(), s, "a.txt", []byte("the text"))
		if err != nil || textOf(got) != "the text" {
			t.Fatalf("got %q, %v", textOf(got), err)
		}
	}
	// Another server on the store has it too.
	if got, err := read(t.Context(), service(), "a.txt", []byte("the text")); err != nil || textOf(got) != "the text" {
		t.Errorf("on another server: %q, %v", textOf(got), err)
	}
	if count.launched.Load() != 1 {
		t.Errorf("%d processes were started", count.launched.Load())
	}
	// Another content, a password and pictures are read again. What needs a password is not kept.
	if _, err := read(t.Context(), s, "a.txt", []byte("another text")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := document.Request{Name: "a.txt", Content: strings.NewReader("the text"), Size: 8, Password: "secret"}
		if _, err := s.Read(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if count.launched.Load() != 4 {
		t.Errorf("%d processes were started, want 4", count.launched.Load())
	}
	// What is damaged, or lost, is made again.
	files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("the blobs are %q, %v", files, err)
	}
	for i, damage := range []func(string) error{
		func(f string) error { return os.WriteFile(f, []byte("{"), 0o600) }, os.Remove,
	} {
		files, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "*"))
		for _, f := range files {
			err = errors.Join(err, damage(f))
		}
		if err != nil {
			t.Fatal(err)
		}
		got, err := read(t.Context(), s, "a.txt", []byte("the text"))
		if err != nil || textOf(got) != "the text" || count.launched.Load() != int64(5+i) {
			t.Errorf("got %q, %v, after %d processes", textOf(got), err, count.launched.Load())
		}
	}
}

// counted counts the processes that are started.
type counted struct {
	sandbox.Launcher
	launched atomic.Int64
}

func (c *counted) Launch(ctx context.Context, s sandbox.Spec) (sandbox.Link, error) {
	c.launched.Add(1)
	return c.Launcher.Launch(ctx, s)
}

// changing is a file that is written to between two readings of it.
type changing struct{ reads atomic.Int64 }

func (c *changing) ReadAt(p []byte, at int64) (int, error) {
	text := strings.Repeat("a", 100)
	if c.reads.Add(1) > 1 {
		text = strings.Repeat("b", 100)
	}
	return strings.NewReader(text).ReadAt(p, at)
}

func TestFileThatChangesIsNotKept(t *testing.T) {
	dir := t.TempDir()
	blobs := blob.New(blob.Options{Store: storetest.Open(t, dir), Place: blob.NewFiles(filepath.Join(dir, "blobs"))})
	s := document.New(document.Options{Formats: readers.Formats(), Tiers: sandbox.NewTiers(&host.Launcher{}), Dir: dir, Blobs: blobs})
	_, err := s.Read(t.Context(), document.Request{Name: "a.txt", Content: &changing{}, Size: 100})
	if !errors.Is(err, document.ErrBroken) {
		t.Errorf("got %v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "blobs", "*", "*", "*")); len(files) > 0 {
		t.Errorf("the blobs are %q", files)
	}
}

func TestReadingEndsWithItsContext(t *testing.T) {
	eachSandbox(t, func(t *testing.T, s *document.Service) {
		ctx, cancel := context.WithCancel(t.Context())
		// The content blocks while it is sent, until the call is given up.
		r := document.Request{Name: "a.txt", Content: &blocking{cancel: cancel}, Size: 4 << 20}
		if _, err := s.Read(ctx, r); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

// blocking can be read once. The second time it gives up the call.
type blocking struct {
	cancel func()
	read   atomic.Int64
}

func (b *blocking) ReadAt(p []byte, at int64) (int, error) {
	if b.read.Add(int64(len(p))) > 6<<20 {
		b.cancel()
	}
	return len(p), nil
}

func TestWhatIsTooLargeIsNotRead(t *testing.T) {
	s := document.New(document.Options{Formats: readers.Formats(), Tiers: sandbox.NewTiers(&host.Launcher{}), Dir: t.TempDir()})
	_, err := s.Read(t.Context(), document.Request{Name: "a.pdf", Content: &changing{}, Size: document.MaxSize + 1})
	if !errors.Is(err, document.ErrTooBig) {
		t.Errorf("got %v", err)
	}
}

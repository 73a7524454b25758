package fs

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/document/readers"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{document.ChildArg: func(args []string) int { return document.Main(args, formats()) }})
	os.Exit(m.Run())
}

// formats returns all formats, one whose reader never ends, and one with pages that is quicker than PDF.
func formats() document.Formats {
	return append(document.Formats{{
		Format: "hang", Begins: []document.Magic{{Bytes: "HANG"}}, Search: []string{".hang"},
		Read: func(context.Context, document.Source) (*document.Document, error) { select {} },
	}, {
		Format: "pages", Begins: []document.Magic{{Bytes: "PAGES"}}, Search: []string{".page"},
		Read: func(_ context.Context, src document.Source) (*document.Document, error) {
			data, err := io.ReadAll(src.Reader())
			doc := &document.Document{Unit: "page"}
			for i, page := range strings.Split(strings.TrimPrefix(string(data), "PAGES"), "\f") {
				doc.Parts = append(doc.Parts, document.Part{Number: i + 1, Markdown: page})
			}
			return doc, err
		},
	}}, readers.Formats()...)
}

// counted counts the processes that were started.
type counted struct {
	sandbox.Launcher
	starts atomic.Int64
}

func (c *counted) Launch(ctx context.Context, s sandbox.Spec) (sandbox.Link, error) {
	c.starts.Add(1)
	return c.Launcher.Launch(ctx, s)
}

// documentSearch is the tool in a workspace with documents.
type documentSearch struct {
	searchFiles
	t       *testing.T
	ctx     context.Context
	dir     string
	starts  *atomic.Int64
	options document.Options
}

func newDocumentSearch(t *testing.T) *documentSearch {
	t.Helper()
	ws, ctx, dir := workspacetest.New(t)
	programs := &counted{Launcher: &kernel.Launcher{}}
	if !programs.Probe(t.Context()).Works {
		programs.Launcher = &host.Launcher{}
	}
	data := t.TempDir()
	s := &documentSearch{t: t, ctx: ctx, dir: dir, starts: &programs.starts, options: document.Options{
		Formats: formats(), Tiers: sandbox.NewTiers(programs), Dir: filepath.Join(t.TempDir(), "documents"),
		Blobs: blob.New(blob.Options{Store: storetest.Open(t, filepath.Join(data, "store")), Place: blob.NewFiles(filepath.Join(data, "blobs"))}),
	}}
	s.searchFiles = searchFiles{files: ws, seen: &Seen{}}
	s.restart()
	return s
}

// restart forgets what is not stored.
func (s *documentSearch) restart() {
	s.texts = newTexts(document.New(s.options))
	s.texts.within, s.texts.limit = time.Minute, time.Minute // no test depends on the load
}

func (s *documentSearch) write(name, content string) {
	s.t.Helper()
	path := filepath.Join(s.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *documentSearch) search(a searchArgs) string {
	s.t.Helper()
	res, err := s.Do(s.ctx, a)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.Text()
}

// corpus returns a document of the tests of readers.
func corpus(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("../../internal/document/readers/testdata/corpus", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func mail(subject, body string) string {
	return fmt.Sprintf("From: Ann <ann@example.com>\nSubject: %s\nContent-Type: text/plain\n\n%s\n", subject, body)
}

func TestSearchInDocuments(t *testing.T) {
	s := newDocumentSearch(t)
	s.write("a.txt", "the walrus is text\n")
	s.write("docs/two.page", "PAGESnothing here\fthe walrus on a page")
	s.write("ledger.xlsx", corpus(t, "libreoffice-ledger.xlsx"))
	s.write("talk.pptx", corpus(t, "libreoffice-talk.pptx"))
	s.write("mail.eml", "From: Ann <ann@example.com>\nSubject: news\nContent-Transfer-Encoding: base64\n\ndGhlIHdhbHJ1cyB3cm90ZQo=\n")
	s.write("ignored.page", "PAGESthe walrus is ignored")
	s.write(".gitignore", "ignored.page\n")
	s.write("page.html", "<p>the <b>walrus</b></p>\n")
	const key = "AKIA" + "QWERTYUIOPASDFGH"
	s.write("key.eml", mail("key", "aws_access_key_id = "+key+" walrus"))
	for name, test := range map[string]struct {
		args  searchArgs
		want  []string
		never []string
	}{
		"all kinds": {searchArgs{Pattern: "walrus", Case: true},
			[]string{"<<<outside ", "a.txt\n1:the walrus is text\n", "docs/two.page\npage 2:the walrus on a page\n",
				":the walrus wrote\n", "page.html\n1:<p>the <b>walrus</b></p>", "in 5 files]"},
			[]string{"ignored.page", key}},
		"a sheet":          {searchArgs{Pattern: `.`, Path: "ledger.xlsx", Limit: 1}, []string{"ledger.xlsx\nsheet 1"}, nil},
		"a slide":          {searchArgs{Pattern: `.`, Path: "talk.pptx", Limit: 1}, []string{"talk.pptx\nslide 1"}, nil},
		"names of files":   {searchArgs{Pattern: "walrus", Mode: "files"}, []string{"docs/two.page\n", "mail.eml\n"}, []string{"<<<"}},
		"counts":           {searchArgs{Pattern: "(walrus|nothing)", Mode: "count", Glob: []string{"*.page"}}, []string{"docs/two.page: 2\n[1 file]"}, nil},
		"only text":        {searchArgs{Pattern: "walrus", Glob: []string{"*.txt"}}, []string{"a.txt\n1:the walrus is text\n[1 "}, []string{"<<<", "two"}},
		"with context":     {searchArgs{Pattern: "walrus", Path: "docs", Context: 1}, []string{"page 1-nothing here\npage 2:the walrus"}, nil},
		"across the lines": {searchArgs{Pattern: `here\s+the walrus`, Path: "docs", Multiline: true}, []string{"page 1:nothing here\npage 2:the walrus"}, nil},
		"ignored, on request": {searchArgs{Pattern: "walrus", Path: ".", All: true, Glob: []string{"ign*"}},
			[]string{"ignored.page\npage 1:the walrus is ignored"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := s.search(test.args)
			for _, want := range test.want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, never := range test.never {
				if strings.Contains(got, never) {
					t.Errorf("%q in\n%s", never, got)
				}
			}
		})
	}
}

func TestDocumentsAreConvertedOnce(t *testing.T) {
	s := newDocumentSearch(t)
	s.write("a.eml", mail("first", "the walrus"))
	s.write("copy.eml", mail("first", "the walrus"))
	search := func() int64 {
		t.Helper()
		if got := s.search(searchArgs{Pattern: "walrus"}); !strings.Contains(got, "in 2 files") {
			t.Fatal(got)
		}
		return s.starts.Load()
	}
	before := search() // two if both are converted at the same time
	if n := search(); before > 2 || n != before {
		t.Fatalf("%d processes, and %d in all", before, n)
	}
	if s.restart(); search() != before {
		t.Fatalf("%d processes after a restart", s.starts.Load()-before)
	}
	s.write("a.eml", mail("first", "the seals"))
	if got := s.search(searchArgs{Pattern: "seals|walrus"}); !strings.Contains(got, "the seals") || s.starts.Load() != before+1 {
		t.Fatalf("%d processes after a change: %s", s.starts.Load()-before, got)
	}
}

func TestDocumentsForTheNextCall(t *testing.T) {
	s := newDocumentSearch(t)
	s.texts.most = 2
	for i := range 5 {
		s.write(fmt.Sprintf("%d.eml", i), mail("s", fmt.Sprintf("walrus number %d", i)))
	}
	s.write("z.txt", "a walrus\n")
	for _, want := range []string{"[3 documents not yet converted; call again", "[1 document not yet", "in 6 files]"} {
		if got := s.search(searchArgs{Pattern: "walrus"}); !strings.Contains(got, want) || !strings.Contains(got, "z.txt") {
			t.Fatalf("no %q in\n%s", want, got)
		}
	}
}

// TestHostileDocuments has documents that cannot be read. The other files are searched, and none is tried again.
func TestHostileDocuments(t *testing.T) {
	s := newDocumentSearch(t)
	s.write("broken.docx", "PK\x03\x04nothing of the kind")
	s.write("z.txt", "a walrus\n")
	if got := s.search(searchArgs{Pattern: "walrus"}); !strings.Contains(got, "[1 file could not be read: broken.docx is ") {
		t.Fatal(got)
	}
	s.texts.limit = 300 * time.Millisecond // only for the one that hangs
	s.write("hangs.hang", "HANG walrus")
	var before int64
	for range 2 {
		got := s.search(searchArgs{Pattern: "walrus"})
		for _, want := range []string{"z.txt\n1:a walrus\n", "[2 files could not be read: ", "broken.docx is ",
			"hangs.hang "} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in\n%s", want, got)
			}
		}
		if before != 0 && s.starts.Load() != before {
			t.Error("it was tried again")
		}
		before = s.starts.Load()
	}
}

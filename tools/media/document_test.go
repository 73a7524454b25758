package media

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/blob"
	"github.com/mcp-tools/mcp-tools/internal/document"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/providertest"
)

// memoryFiles are files in memory. Only Open is used.
type memoryFiles struct {
	workspace.Files
	files map[string]string
}

func (m memoryFiles) Open(_ context.Context, path string) (*workspace.File, error) {
	content, ok := m.files[path]
	if !ok {
		return nil, tool.Errorf(tool.NotFound, "no file %q", path).Because(fs.ErrNotExist)
	}
	return &workspace.File{
		Name: path, Exists: true, Size: int64(len(content)), ReaderAt: strings.NewReader(content),
		Closer: io.NopCloser(nil),
	}, nil
}

func newDocuments(t *testing.T) *document.Service {
	dir := t.TempDir()
	blobs := blob.New(blob.Options{Store: storetest.Open(t, dir), Place: blob.NewFiles(dir + "/blobs")})
	return document.New(document.Options{Dir: t.TempDir(), Blobs: blobs})
}

// asked keeps what is asked of a reader of documents.
type asked struct {
	*document.Service // keeps downloads

	request document.Request
	view    document.View
	content string
}

func (a *asked) Answer(_ context.Context, r document.Request, v document.View) (tool.Result, error) {
	content, err := io.ReadAll(io.NewSectionReader(r.Content, 0, r.Size))
	a.request, a.view, a.content = r, v, string(content)
	return tool.Text("answered"), err
}

// site answers every request.
type site struct {
	outbound.Client
	status int
	header http.Header
	body   string
	url    string
	failed error
	count  int // of requests
}

func (s *site) Check(context.Context, outbound.Request) error { return s.failed }

func (s *site) Do(_ context.Context, r outbound.Request) (*outbound.Answer, error) {
	s.url = r.URL
	s.count++
	return &outbound.Answer{
		Status: s.status, Header: s.header, URL: r.URL, Body: io.NopCloser(bytes.NewReader([]byte(s.body))),
	}, s.failed
}

func TestReadDocumentByPath(t *testing.T) {
	files := memoryFiles{files: map[string]string{"a.zip": "archive", "odd!/name.pdf": "odd", "dir/b.docx": "word"}}
	for _, test := range []struct {
		args    documentArgs
		content string
		members string
		name    string
	}{
		{documentArgs{Path: "dir/b.docx"}, "word", "", "b.docx"},
		{documentArgs{Path: "a.zip!/b/c.docx"}, "archive", "b/c.docx", "a.zip"},
		{documentArgs{Path: "a.zip!/b.zip!/c.pdf"}, "archive", "b.zip c.pdf", "a.zip"},
		{documentArgs{Path: "odd!/name.pdf"}, "odd", "", "name.pdf"}, // the file itself comes first
	} {
		got := &asked{}
		tl := readDocument{Options{Seen: versions{}, Files: files}, got}
		if _, err := tl.Do(t.Context(), test.args); err != nil {
			t.Errorf("%s: %v", test.args.Path, err)
			continue
		}
		if members := strings.Join(got.request.Members, " "); got.content != test.content || members != test.members ||
			got.request.Name != test.name || got.view.Path != test.args.Path {
			t.Errorf("%s: content %q of %q, members %q, to read on %q", test.args.Path, got.content, got.request.Name,
				members, got.view.Path)
		}
	}
}

func TestReadDocumentByURL(t *testing.T) {
	for _, test := range []struct {
		url, disposition, kind string
		name, members          string
	}{
		{url: "https://a.example/x/report.pdf?v=1", name: "report.pdf"},
		{url: "https://a.example/get?id=7", kind: "application/pdf", name: "document.pdf"},
		{url: "https://a.example/get", disposition: `attachment; filename="../../b.docx"`, name: "b.docx"},
		{url: "https://a.example/a.zip!/b.pdf", name: "a.zip", members: "b.pdf"},
	} {
		got := &asked{Service: newDocuments(t)}
		web := &site{status: http.StatusOK, body: "the body", header: http.Header{}}
		web.header.Set("Content-Disposition", test.disposition)
		web.header.Set("Content-Type", test.kind)
		tl := readDocument{Options{Client: web}, got}
		if _, err := tl.Do(t.Context(), documentArgs{Path: test.url}); err != nil { // models send URLs as path
			t.Errorf("%s: %v", test.url, err)
			continue
		}
		if got.content != "the body" || got.request.Name != test.name || got.view.URL != test.url ||
			strings.Join(got.request.Members, " ") != test.members || strings.Contains(web.url, "!/") {
			t.Errorf("%s: %+v, asked for %s", test.url, got, web.url)
		}
	}
}

// A document is downloaded when a caller begins to read it, not for each of its pages.
func TestReadDocumentDownloadsOnce(t *testing.T) {
	got := &asked{Service: newDocuments(t)}
	web := &site{status: http.StatusOK, body: "first", header: http.Header{}}
	tl := readDocument{Options{Client: web}, got}
	const url = "https://a.example/a.zip"
	ann := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: "ann"}})
	bob := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{User: "bob"}})
	for _, step := range []struct {
		ctx   context.Context
		args  documentArgs
		from  int // the request that the content is from
		count int // of requests so far
	}{
		{ann, documentArgs{URL: url, Pages: "3-"}, 1, 1}, // there is no download to continue
		{ann, documentArgs{URL: url, Pages: "4-"}, 1, 1},
		{ann, documentArgs{URL: url, Offset: 7}, 1, 1},
		{ann, documentArgs{URL: url + "!/b.pdf"}, 1, 1},
		{bob, documentArgs{URL: url, Offset: 7}, 2, 2}, // the download is another caller's
		{ann, documentArgs{URL: url + "?other", Offset: 7}, 3, 3},
		{ann, documentArgs{URL: url, Offset: 7}, 1, 3},
		{ann, documentArgs{URL: url}, 4, 4}, // from the beginning
		{ann, documentArgs{URL: url, Offset: 7}, 4, 4},
	} {
		web.body = fmt.Sprint(web.count + 1)
		_, err := tl.Do(step.ctx, step.args)
		if err != nil || got.content != fmt.Sprint(step.from) || web.count != step.count {
			t.Errorf("%+v: content of request %s after %d requests, %v", step.args, got.content, web.count, err)
		}
		if got.request.Name != "a.zip" {
			t.Errorf("%+v: the name is %q", step.args, got.request.Name)
		}
	}
	web.failed = errors.New("the host is not allowed any more")
	if _, err := tl.Do(ann, documentArgs{URL: url, Offset: 7}); !errors.Is(err, web.failed) {
		t.Errorf("a download of a host that is not allowed: %v", err)
	}
}

func TestReadDocumentRefuses(t *testing.T) {
	web := &site{status: http.StatusNotFound, header: http.Header{}}
	tl := readDocument{Options{Seen: versions{}, Files: memoryFiles{}, Client: web}, &asked{}}
	for _, test := range []struct {
		args documentArgs
		kind tool.Kind
	}{
		{documentArgs{}, tool.Invalid},
		{documentArgs{Path: "a", URL: "https://a.example"}, tool.Invalid},
		{documentArgs{Path: "a", Pages: "last"}, tool.Invalid},
		{documentArgs{Path: "gone.pdf!/x"}, tool.NotFound},
		{documentArgs{URL: "https://a.example/gone.pdf"}, tool.Unavailable},
	} {
		_, err := tl.Do(t.Context(), test.args)
		if known := tool.AsError(err); err == nil || known.Kind != test.kind {
			t.Errorf("%+v: %v", test.args, err)
		}
	}
	web.failed = errors.New("no route")
	if _, err := tl.Do(t.Context(), documentArgs{URL: "https://a.example"}); !errors.Is(err, web.failed) {
		t.Errorf("got %v", err)
	}
}

// TestReadDocumentWithAPrompt returns the text and says that no model has answered.
func TestReadDocumentWithAPrompt(t *testing.T) {
	tl := readDocument{Options{Seen: versions{}, Files: memoryFiles{files: map[string]string{"b.docx": "word"}}}, &asked{}}
	res, err := tl.Do(t.Context(), documentArgs{Path: "b.docx", Prompt: "What is it about?"})
	if err != nil || !strings.Contains(res.Text(), "answer it from the text above") {
		t.Errorf("%s, %v", res.Text(), err)
	}
}

// TestReadDocumentAsksAModel lets a provider answer from the text.
func TestReadDocumentAsksAModel(t *testing.T) {
	s := providertest.New(t)
	s.On("POST /models/gemini-3.8-flash:generateContent", providertest.Reply{Body: `{"candidates":[{"content":{"parts":[{"text":"About tea."}]}}]}`})
	client := providertest.Client(t, s)
	providers, err := provider.New(provider.Options{
		Endpoints: []provider.Endpoint{{Name: "gemini", Kind: "gemini", URL: s.URL, Key: "k"}},
		AskAbove:  1e12, API: client, Web: client, Now: time.Now,
		Wait: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	tl := readDocument{Options{Seen: versions{}, Files: memoryFiles{files: map[string]string{"b.docx": "word"}}, Providers: providers,
		Marks: tool.NewMarks()}, &asked{}}
	res, err := tl.Do(t.Context(), documentArgs{Path: "b.docx", Prompt: "What is it about?"})
	if err != nil || !tool.Quoted(res.Text()) || !strings.Contains(res.Text(), "About tea.") {
		t.Fatalf("%s, %v", res.Text(), err)
	}
	if got := s.Got(); len(got) != 1 || !strings.Contains(string(got[0].Body), "What is it about?") ||
		!strings.Contains(string(got[0].Body), "The document:") {
		t.Errorf("%+v", got)
	}
}

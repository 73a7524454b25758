package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/web/cache"
)

// filesIn returns the names of the files in a directory, which need not exist.
func filesIn(t testing.TB, dir string) (names []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// A testNet has the options for tools, with a client that reaches one test server. It
// counts the requests.
type testNet struct {
	Options
	mu    sync.Mutex
	asked []*http.Request
}

func newNet(t testing.TB, handler http.HandlerFunc) *testNet {
	n := &testNet{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.mu.Lock()
		n.asked = append(n.asked, r)
		n.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	n.Options = Options{
		Client: egresstest.Client(t, map[string]*httptest.Server{"docs.example.com": server, "other.example.net": server}),
		Marks:  tool.NewMarks(), Cache: cache.New(),
		Scope: func(ctx context.Context) string { return tool.CallerFrom(ctx).Principal() },
		Limits: func() Limits {
			return Limits{Page: 10 << 20, Download: 8 << 20}
		},
		Files: saved{}, Secrets: noSecrets{},
	}
	return n
}

func (n *testNet) count() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return len(n.asked)
}

// saved holds files in memory, by name.
type saved map[string]string

func (s saved) Save(_ context.Context, path string, content io.Reader) (string, error) {
	text, err := io.ReadAll(content)
	s[path] = string(text)
	return path, err
}

func (s saved) Add(ctx context.Context, path string, content io.Reader) (string, error) {
	return s.Save(ctx, path, content)
}

func (saved) Check(_ context.Context, path string) error {
	if strings.HasPrefix(path, "..") {
		return tool.Errorf(tool.Refused, "%q is outside", path).Try("use a path inside")
	}
	return nil
}

type noSecrets struct{}

func (noSecrets) Find(_ context.Context, name, _, _ string) (outbound.Credential, error) {
	return nil, tool.Errorf(tool.NotFound, "there is no credential %q", name).Try("leave it out")
}

func caller(t testing.TB, user string) context.Context {
	return tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: user, Session: user}})
}

// kindOfError returns the kind of an error, or of a result that contains one.
func kindOfError(r tool.Result, err error) tool.Kind {
	if err != nil {
		return tool.AsError(err).Kind
	}
	return r.Kind
}

func article(paragraphs int) string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang="en"><head><title>On tides</title></head><body><nav><a href="/">Home</a></nav><article><h1>On tides</h1>`)
	for i := range paragraphs {
		fmt.Fprintf(&b, "<p>Paragraph %d says that the sea rises, and that it falls, twice a day and a little later each time.</p>\n", i)
	}
	b.WriteString(`<p><a href="/moon?x=1">The moon</a> does it.</p></article></body></html>`)
	return b.String()
}

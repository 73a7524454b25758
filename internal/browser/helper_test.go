package browser

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// testTiers are the sandboxes of all tests, which are probed once.
var testTiers = sandbox.NewTiers(&kernel.Launcher{}, &host.Launcher{})

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{limitNamespacesArg: limitNamespaces})
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil { // the tests mostly wait
		panic(err)
	}
	os.Exit(m.Run())
}

// A record lists the requests to a proxy.
type record struct {
	mu    sync.Mutex
	asked []string
}

func (r *record) note(to string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, to)
}

func (r *record) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.asked)
}

// saved contains the downloaded files.
type saved struct {
	mu    sync.Mutex
	files map[string]string
}

func (s *saved) Save(_ context.Context, path string, content io.Reader) (string, error) {
	text, err := io.ReadAll(content)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.files[path] = string(text)
	return path, err
}

func (s *saved) Add(ctx context.Context, path string, content io.Reader) (string, error) {
	s.mu.Lock()
	ending := filepath.Ext(path)
	name := strings.TrimSuffix(path, ending)
	for n := 2; ; n++ {
		if _, taken := s.files[path]; !taken {
			break
		}
		path = fmt.Sprintf("%s-%d%s", name, n, ending)
	}
	s.mu.Unlock()
	return s.Save(ctx, path, content)
}

func (s *saved) Open(_ context.Context, path string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[path]
	if !ok {
		return nil, tool.Errorf(tool.NotFound, "no file %q", path)
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

func (s *saved) Check(context.Context, string) error { return nil }

// A fixture is a browser with a network, files and a caller.
type fixture struct {
	t        testing.TB
	user     string // the default caller
	browsers *Browsers
	net      *egresstest.Net
	record   *record
	saved    *saved
	home     string
}

func newFixture(t testing.TB, hosts map[string]*httptest.Server, change ...func(*Options)) *fixture {
	t.Helper()
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	b := &fixture{t: t, user: "ann", net: egresstest.New(t, hosts), record: &record{},
		saved: &saved{files: map[string]string{}}}
	o := Options{
		Tiers: testTiers, Files: b.saved, Proxy: func(_ context.Context, refused func(string, error)) (Proxy, error) {
			return b.net.Proxy(t, b.record.note, refused), nil
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	for _, c := range change {
		c(&o)
	}
	if o.Dir == "" {
		o.Dir = openDir(t)
	}
	b.home = o.Dir
	var err error
	if b.browsers, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.browsers.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(b.home); len(left) > 0 {
			t.Errorf("%d directories are left", len(left))
		}
	})
	return b
}

// openDir returns a directory with a short path that all users can enter, unlike
// t.TempDir.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "browser-test-")
	if err == nil {
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// as returns a context for a call of a user.
func (b *fixture) as(user string) context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), 5*time.Minute)
	b.t.Cleanup(cancel)
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: "agent", User: user, Session: "session"}})
}

// in returns the same fixture for a subtest with another caller.
func (b *fixture) in(t *testing.T, user string) *fixture {
	own := *b
	own.t, own.user = t, user
	return &own
}

// try executes a request of the default caller.
func (b *fixture) try(req Request) (View, error) { return b.browsers.Do(b.as(b.user), req) }

// do executes a request, which has to succeed, and returns all text.
func (b *fixture) do(req Request) string {
	b.t.Helper()
	v, err := b.try(req)
	if err != nil {
		var known *tool.Error
		if errors.As(err, &known) {
			b.t.Fatalf("%+v: %v: %v", req, err, known.Unwrap())
		}
		b.t.Fatalf("%+v: %v", req, err)
	}
	return strings.Join(v.Notes, "\n") + "\n" + v.Page
}

// ref returns the ref in the first line that contains a text.
func (b *fixture) ref(page, what string) string {
	b.t.Helper()
	for line := range strings.Lines(page) {
		at := strings.Index(line, what)
		if at < 0 {
			continue
		}
		if open := strings.LastIndex(line[:at], "["); open >= 0 {
			ref, _, _ := strings.Cut(line[open+1:], "]")
			return ref
		}
	}
	b.t.Fatalf("no line contains %q in:\n%s", what, page)
	return ""
}

// wantContains checks that a text contains all others.
func wantContains(t testing.TB, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("the text does not contain %q:\n%s", want, text)
		}
	}
}

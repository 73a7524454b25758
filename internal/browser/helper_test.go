package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/tools"
	"github.com/mcp-tools/mcp-tools/tools/web"
)

// A wayOut is a proxy with the real rules for addresses, in an internet of the
// test. It keeps what it was asked for.
type wayOut struct {
	dial  func(ctx context.Context, network, address string) (net.Conn, error)
	mu    sync.Mutex
	asked []string
}

func (w *wayOut) Serve(ctx context.Context, l net.Listener) error {
	transport := &http.Transport{DialContext: w.dial}
	defer transport.CloseIdleConnections()
	forward := &httputil.ReverseProxy{
		Rewrite: func(*httputil.ProxyRequest) {}, Transport: transport, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0),
		ErrorHandler: func(rw http.ResponseWriter, _ *http.Request, err error) {
			http.Error(rw, tools.AsError(err).Error(), http.StatusForbidden)
		},
	}
	server := &http.Server{Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.asked = append(w.asked, r.Method+" "+r.Host)
		w.mu.Unlock()
		if r.Method != http.MethodConnect {
			forward.ServeHTTP(rw, r)
			return
		}
		to, err := w.dial(r.Context(), "tcp", r.Host)
		if err != nil {
			http.Error(rw, tools.AsError(err).Error(), http.StatusForbidden)
			return
		}
		defer to.Close()
		from, _, err := rw.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer from.Close()
		defer context.AfterFunc(ctx, func() { from.Close(); to.Close() })()
		fmt.Fprint(from, "HTTP/1.1 200 OK\r\n\r\n")
		var both sync.WaitGroup
		both.Go(func() { io.Copy(to, from); to.Close() })
		both.Go(func() { io.Copy(from, to); from.Close() })
		both.Wait()
	})}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	err := server.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// saved are the files that a test was handed.
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

func (s *saved) Check(context.Context, string) error { return nil }

// A bench is a browser with what it needs: an internet, files, and a caller.
type bench struct {
	t        testing.TB
	browsers *Browsers
	out      *wayOut
	saved    *saved
	home     string
}

func newBench(t testing.TB, hosts map[string]*httptest.Server, change ...func(*Options)) *bench {
	t.Helper()
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	d := egresstest.Dialer(t, hosts)
	b := &bench{t: t, out: &wayOut{dial: d.DialContext}, saved: &saved{files: map[string]string{}}}
	o := Options{
		Files: b.saved, Proxy: func(context.Context) (Proxy, error) { return b.out, nil },
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
			t.Errorf("%d places are left behind", len(left))
		}
	})
	return b
}

// openDir is a directory with a short path that every user can get into, which
// those of tests are not.
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

// as is a context of a call by somebody.
func (b *bench) as(user string) context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), 100*time.Second)
	b.t.Cleanup(cancel)
	return tools.With(ctx, &tools.Running{Caller: tools.Caller{Agent: "agent", User: user, Session: "session"}})
}

// try does something as the usual caller.
func (b *bench) try(a web.Act) (web.View, error) { return b.browsers.Do(b.as("ann"), a) }

// do does something that must work, and returns all that is told.
func (b *bench) do(a web.Act) string {
	b.t.Helper()
	v, err := b.try(a)
	if err != nil {
		var known *tools.Error
		if errors.As(err, &known) {
			b.t.Fatalf("%+v: %v: %v", a, err, known.Unwrap())
		}
		b.t.Fatalf("%+v: %v", a, err)
	}
	return strings.Join(v.Notes, "\n") + "\n" + v.Page
}

// ref finds the ref of the first line that says something.
func (b *bench) ref(page, what string) string {
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
	b.t.Fatalf("nothing says %q in:\n%s", what, page)
	return ""
}

// wants are texts that something has to say.
func wants(t testing.TB, text string, all ...string) {
	t.Helper()
	for _, want := range all {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
}

package box_test

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{"victim": victim})
	os.Exit(m.Run())
}

// hang is when a test that hangs is given up.
const hang = 5 * time.Minute

func open(t testing.TB) *box.Box {
	t.Helper()
	return openWith(t, host.Launcher{}, sandbox.Spec{})
}

func openWith(t testing.TB, l sandbox.Launcher, w sandbox.Spec) *box.Box {
	t.Helper()
	link, err := l.Launch(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	b, err := box.Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

// A sink keeps what it hears.
type sink struct {
	mu   sync.Mutex
	out  bytes.Buffer
	err  bytes.Buffer
	exit wire.ExitBody
	lost error

	skipped int64

	order  []string
	exited chan struct{}
	gone   chan struct{}
	wrote  chan struct{} // something was, since it was last looked
}

func newSink() *sink {
	return &sink{exited: make(chan struct{}), gone: make(chan struct{}), wrote: make(chan struct{}, 1)}
}

func (s *sink) Output(stream sandbox.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	to := &s.out
	if stream == sandbox.Stderr {
		to = &s.err
	}
	to.Write(data)
	select {
	case s.wrote <- struct{}{}:
	default:
	}
}

func (s *sink) Skipped(_ sandbox.Stream, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.out, "[%d skipped]", n)
	s.skipped += n
}

func (s *sink) Exited(e wire.ExitBody) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exit = e
	s.order = append(s.order, "exited")
	close(s.exited)
}

func (s *sink) Gone(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = err
	s.order = append(s.order, "gone")
	close(s.gone)
}

func (s *sink) stdout() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String()
}

func (s *sink) stderr() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err.String()
}

func wait(t testing.TB, what string, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(hang):
		t.Fatalf("%s: nothing for %s", what, hang)
	}
}

// until waits for something that stdout has to hold.
func (s *sink) until(t testing.TB, text string) {
	t.Helper()
	end := time.After(hang)
	for !bytes.Contains([]byte(s.stdout()), []byte(text)) {
		select {
		case <-s.wrote:
		case <-end:
			t.Fatalf("no %q in stdout, but %q", text, s.stdout())
		}
	}
}

// comesTo says whether stdout holds something before the command is gone.
func (s *sink) comesTo(t testing.TB, text string) bool {
	t.Helper()
	wait(t, "gone", s.gone)
	return bytes.Contains([]byte(s.stdout()), []byte(text))
}

const path = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

func sh(text string) wire.StartBody {
	return wire.StartBody{Argv: []string{"sh", "-c", text}, Dir: "/", Env: []string{path}}
}

func start(t testing.TB, b *box.Box, body wire.StartBody) (*box.Child, *sink) {
	t.Helper()
	s := newSink()
	c, err := b.Start(t.Context(), body, s)
	if err != nil {
		t.Fatalf("%q: %v", body.Argv, err)
	}
	return c, s
}

// run runs a command to its end.
func run(t testing.TB, b *box.Box, body wire.StartBody) *sink {
	t.Helper()
	_, s := start(t, b, body)
	select {
	case <-s.gone:
		if s.lost != nil {
			t.Fatalf("%q: %v", body.Argv, s.lost)
		}
	case <-s.exited:
	case <-time.After(hang):
		t.Fatalf("exit of %q: nothing for %s", body.Argv, hang)
	}
	return s
}

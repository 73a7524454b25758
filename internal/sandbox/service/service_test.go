package service_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/service"
)

// TestMain also runs the test binary as the launcher and as the agent. These roles end
// with syscall.Exit, because the race detector would wait for a second.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case kernel.StageArg:
			syscall.Exit(kernel.Main(os.Args[2:]))
		case agent.Name:
			syscall.Exit(agent.Main(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// heard is what a program has written, and whether it has ended.
type heard struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ended chan error
}

func (h *heard) output(data []byte) { h.mu.Lock(); defer h.mu.Unlock(); h.text.Write(data) }

func (h *heard) String() string { h.mu.Lock(); defer h.mu.Unlock(); return h.text.String() }

// TestPrograms: a program answers until it is closed, sees its own directory and those that it is given, and
// gets nothing of the environment of the server.
func TestPrograms(t *testing.T) {
	needtest.Program(t, "sh")
	t.Setenv("SECRET_OF_THE_SERVER", "leaks")
	for _, l := range []sandbox.Launcher{&kernel.Launcher{}, host.Launcher{}} {
		t.Run(l.Name(), func(t *testing.T) {
			if !l.Probe(t.Context()).Works {
				needtest.Lacking(t, l.Name(), "the sandbox does not work here")
			}
			given := t.TempDir()
			if err := os.WriteFile(filepath.Join(given, "notes"), []byte("of mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := &service.Runner{Launchers: []sandbox.Launcher{l}}
			h := &heard{ended: make(chan error, 1)}
			p, err := r.Start(t.Context(), service.Program{
				Argv: []string{"sh", "-c",
					`env; cat "$1/notes"; echo kept > "$HOME/file"; while read line; do echo "got $line"; done`,
					"sh", given},
				Env: []string{"OWN=1"}, Tier: l.Name(), Dir: filepath.Join(t.TempDir(), "home"), Read: []string{given},
			}, h.output, func(err error) { h.ended <- err })
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Write(t.Context(), []byte("hello\n")); err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(time.Minute); !strings.Contains(h.String(), "got hello"); {
				if time.Now().After(deadline) {
					t.Fatalf("it wrote %q, and %q to stderr", h, p.Words())
				}
				time.Sleep(time.Millisecond)
			}
			for _, want := range []string{"OWN=1", "of mine"} {
				if !strings.Contains(h.String(), want) {
					t.Errorf("it has not seen %s:\n%s", want, h)
				}
			}
			if strings.Contains(h.String(), "leaks") {
				t.Errorf("it sees the environment of the server:\n%s", h)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			select {
			case <-h.ended:
			case <-time.After(time.Minute):
				t.Error("its end was not reported")
			}
		})
	}
	if _, err := (&service.Runner{Launchers: []sandbox.Launcher{host.Launcher{}}}).Start(t.Context(),
		service.Program{Argv: []string{"sh"}, Dir: t.TempDir()}, nil, nil); err == nil ||
		!strings.Contains(err.Error(), "no sandbox works") {
		t.Errorf("auto has chosen the host: %v", err)
	}
}

package program_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
)

// heard is what a program has written, and whether it has ended.
type heard struct {
	mu    sync.Mutex
	text  bytes.Buffer
	ended chan error
}

func (h *heard) output(data []byte) { h.mu.Lock(); defer h.mu.Unlock(); h.text.Write(data) }

func (h *heard) gone(err error) { h.ended <- err }

func (h *heard) String() string { h.mu.Lock(); defer h.mu.Unlock(); return h.text.String() }

// TestPrograms: a program answers until it is closed, sees its own directory and those that it is given, and
// gets nothing of the environment of the server.
func TestPrograms(t *testing.T) {
	needtest.Program(t, "sh")
	t.Setenv("SECRET_OF_THE_SERVER", "leaks")
	for _, l := range []sandbox.Launcher{&kernel.Launcher{}, host.Launcher{}} {
		t.Run(l.Name(), func(t *testing.T) {
			needtest.Sandbox(t, l)
			given := t.TempDir()
			if err := os.WriteFile(filepath.Join(given, "notes"), []byte("of mine"), 0o600); err != nil {
				t.Fatal(err)
			}
			r := &program.Runner{Tiers: sandbox.NewTiers(l)}
			h := &heard{ended: make(chan error, 1)}
			p, err := r.Start(t.Context(), program.Spec{
				Argv: []string{"sh", "-c",
					`env; cat "$1/notes"; echo kept > "$HOME/file"; while read line; do echo "got $line"; done`,
					"sh", given},
				Env: []string{"OWN=1"}, Tier: l.Name(), Dir: filepath.Join(t.TempDir(), "home"), Read: []string{given},
				Input: true, Output: h.output, Gone: h.gone})
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
	if _, err := (&program.Runner{Tiers: sandbox.NewTiers(host.Launcher{})}).Start(t.Context(),
		program.Spec{Argv: []string{"sh"}, Dir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "no sandbox works") {
		t.Errorf("auto has chosen the host: %v", err)
	}
}

// TestProgramsEndInOrder: a program that is closed sees the end of stdin, and SIGTERM if that does not end it.
func TestProgramsEndInOrder(t *testing.T) {
	needtest.Program(t, "sh")
	for _, l := range []sandbox.Launcher{&kernel.Launcher{}, host.Launcher{}} {
		t.Run(l.Name(), func(t *testing.T) {
			needtest.Sandbox(t, l)
			for script, want := range map[string]string{
				`echo ready; while read line; do :; done; echo end > ended`:                                             "end\n",
				`trap 'echo term > ended; exit' TERM; echo ready; while :; do sleep 0.01; done`:                         "term\n",
				`trap 'echo term >> ended' TERM; echo ready; while read line; do :; done; while :; do sleep 0.01; done`: "term\n",
			} {
				dir := filepath.Join(t.TempDir(), "home")
				h := &heard{ended: make(chan error, 1)}
				p, err := (&program.Runner{Tiers: sandbox.NewTiers(l)}).Start(t.Context(),
					program.Spec{Argv: []string{"sh", "-c", script}, Tier: l.Name(), Dir: dir, Input: true, Output: h.output, Gone: h.gone})
				if err != nil {
					t.Fatal(err)
				}
				for deadline := time.Now().Add(time.Minute); !strings.Contains(h.String(), "ready"); {
					if time.Now().After(deadline) {
						t.Fatalf("it wrote %q, and %q to stderr", h, p.Words())
					}
					time.Sleep(time.Millisecond)
				}
				if err := p.Close(); err != nil {
					t.Error(err)
				}
				<-h.ended
				if got, err := os.ReadFile(filepath.Join(dir, "ended")); string(got) != want {
					t.Errorf("%s: it noted %q, %v", script, got, err)
				}
			}
		})
	}
}

// TestHiddenPrograms: of several programs with a name the first that the sandbox shows is started. If it shows none, the
// error names the directory to show.
func TestHiddenPrograms(t *testing.T) {
	l := &kernel.Launcher{}
	needtest.Sandbox(t, l)
	home := t.TempDir()
	shims := filepath.Join(home, "versions", "node", "bin")
	if err := os.MkdirAll(shims, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cat", "only-here"} {
		if err := os.WriteFile(filepath.Join(shims, name), []byte("#!/bin/sh\necho shim\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", shims+":"+os.Getenv("PATH"))
	start := func(name string, read ...string) (*heard, error) {
		h := &heard{ended: make(chan error, 1)}
		p, err := (&program.Runner{Tiers: sandbox.NewTiers(l)}).Start(t.Context(),
			program.Spec{Argv: []string{name}, Tier: l.Name(), Dir: filepath.Join(t.TempDir(), "home"), Read: read,
				Input: true, Output: h.output, Gone: h.gone})
		if err != nil {
			return nil, err
		}
		if err := p.Write(t.Context(), []byte("hello\n")); err != nil {
			t.Log(err) // a shim may have ended
		}
		for deadline := time.Now().Add(time.Minute); h.String() == "" && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		return h, p.Close()
	}
	if h, err := start("cat"); err != nil || h.String() != "hello\n" {
		t.Errorf("a shim in front: %v, %v", h, err)
	}
	want := "--read " + filepath.Join(home, "versions", "node")
	if _, err := start("only-here"); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a program that is not shown: %v, want %s", err, want)
	}
	if h, err := start("only-here", home); err != nil || h.String() != "shim\n" {
		t.Errorf("with its directory: %v, %v", h, err)
	}
}

// TestHostsAreReachedDirectly: a program that knows no proxy reaches the hosts that it may reach, by name, by address and
// on loopback.
func TestHostsAreReachedDirectly(t *testing.T) {
	needtest.Program(t, "bash")
	l := &kernel.Launcher{}
	if found := l.Probe(t.Context()); !found.Works || !found.Proxy {
		needtest.Lacking(t, l.Name(), "the sandbox does not work here")
	}
	socket := filepath.Join(t.TempDir(), "proxy")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // a proxy whose hosts greet and name themselves
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				r, err := http.ReadRequest(bufio.NewReader(conn))
				if err == nil {
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\n\r\nthis is %s\n", r.Host)
				}
			}()
		}
	}()
	hosts := []string{"127.0.0.1:8765", "db.corp:5432", "db.corp:80", "other.corp:5432", "10.99.0.7:5432", "localhost:99"}
	script := `for at in "$@"; do exec 3<>/dev/tcp/${at%:*}/${at##*:} && cat <&3; exec 3>&-; done; echo all`
	h := &heard{ended: make(chan error, 1)}
	p, err := (&program.Runner{Tiers: sandbox.NewTiers(l),
		Proxy: func(context.Context, []string) (string, func(), error) { return socket, func() {}, nil },
	}).Start(t.Context(), program.Spec{Network: true,
		Argv: append([]string{"bash", "-c", script, "bash"}, hosts...), Tier: l.Name(),
		Dir: filepath.Join(t.TempDir(), "home"), Hosts: append(hosts, "*.corp:1", "10.0.0.0/8:5"),
		Input: true, Output: h.output, Gone: h.gone})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-h.ended:
	case <-time.After(time.Minute):
	}
	for _, host := range hosts {
		if !strings.Contains(h.String(), "this is "+host+"\n") {
			t.Errorf("%s is not reached: %q, %s", host, h, p.Words())
		}
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

//go:build unix && !darwin

package seatbelt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/selftest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.Name {
		os.Exit(agent.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == selftest.Arg {
		os.Exit(selftest.Main(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// fake returns a launcher whose sandbox-exec is a script: it starts the program without any sandbox, or does what body says.
func fake(t *testing.T, body string) Launcher {
	t.Helper()
	if body == "" {
		body = "shift 2; while [ \"$1\" = -D ]; do shift 2; done; exec \"$@\""
	}
	path := filepath.Join(t.TempDir(), "sandbox-exec")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return Launcher{exec: path}
}

// TestProbeTrustsNothing checks that a sandbox-exec that isolates nothing is not used.
func TestProbeTrustsNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		l    Launcher
		want string
	}{
		"missing":           {Launcher{exec: "/nonesuch/sandbox-exec"}, "is missing"},
		"isolates nothing":  {fake(t, ""), "a program in it can read"},
		"refuses":           {fake(t, "echo 'sandbox-exec: sandbox_apply: Operation not permitted' >&2; exit 71"), "outside of them, or use sandbox docker"},
		"ends without word": {fake(t, "exit 1"), "EOF"},
	} {
		if f := tt.l.Probe(t.Context()); f.Works || !strings.Contains(f.Text, tt.want) || f.Advice == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
}

// TestLaunch runs a command through a launcher with a proxy, and looks for what is left.
func TestLaunch(t *testing.T) {
	l := fake(t, "")
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "from the proxy")
			conn.Close()
		}
	}()
	layout := l.Layout(sandbox.Directories{Dir: t.TempDir(), Roots: []sandbox.Root{{Name: "r", Path: "/opt/r"}}})
	link, err := l.Launch(t.Context(), sandbox.Spec{
		Binds: layout.Binds[:1], Home: layout.Home, Proxy: socket, Limits: sandbox.Limits{FileSize: 1 << 20},
		Require: []sandbox.Guarantee{sandbox.Files},
	})
	if err != nil {
		t.Fatal(err)
	}
	address := link.(sandbox.Proxied).ProxyURL()
	b, err := box.Open(t.Context(), link)
	if err != nil {
		t.Fatal(err)
	}
	if b.ProxyURL() != address {
		t.Errorf("the proxy of the box is at %s, and that of the link at %s", b.ProxyURL(), address)
	}
	out := &sink{exited: make(chan struct{}), gone: make(chan struct{})}
	if _, err := b.Start(t.Context(), wire.StartBody{
		Argv: []string{"/bin/sh", "-c", "echo $0 >" + layout.Home + "/file; cat " + layout.Home + "/file; sleep 1000 & exit 3", "word"},
		Dir:  layout.Binds[0].Host,
	}, out); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(address, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(conn); string(text) != "from the proxy\n" {
		t.Errorf("the proxy says %q, %v", text, err)
	}
	select {
	case <-out.exited:
	case <-time.After(time.Minute):
		t.Error("the command did not end")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	<-out.gone
	if out.text.String() != "word\n" {
		t.Errorf("the command wrote %q", out.text.String())
	}
	if _, err := os.Stat(layout.Home); err == nil {
		t.Error("the home is left")
	}
	if _, err := net.Dial("tcp", strings.TrimPrefix(address, "http://")); err == nil {
		t.Error("the address of the proxy is left")
	}
}

type sink struct {
	text         bytes.Buffer
	exited, gone chan struct{}
}

func (s *sink) Output(_ sandbox.Stream, data []byte) { s.text.Write(data) }
func (s *sink) Skipped(sandbox.Stream, int64)        {}
func (s *sink) Exited(wire.ExitBody)                 { close(s.exited) }
func (s *sink) Gone(error)                           { close(s.gone) }

func TestRefused(t *testing.T) {
	l := fake(t, "")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, tt := range map[string]struct {
		ctx  context.Context
		spec sandbox.Spec
		want string
	}{
		"a guarantee": {t.Context(), sandbox.Spec{Require: []sandbox.Guarantee{sandbox.Memory}}, `cannot guarantee "memory"`},
		"open":        {t.Context(), sandbox.Spec{Open: true}, "neither opens the network"},
		"nested":      {t.Context(), sandbox.Spec{Nested: true}, "neither opens the network"},
		"cancelled":   {ended, sandbox.Spec{}, "canceled"},
		"too much":    {t.Context(), sandbox.Spec{Hidden: []string{"/" + strings.Repeat("x", maxProfile)}}, "too many paths"},
		"no home":     {t.Context(), sandbox.Spec{Home: "/nonesuch/home"}, "a home for commands"},
	} {
		if _, err := l.Launch(tt.ctx, tt.spec); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

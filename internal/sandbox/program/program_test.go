package program_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/program"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// each runs a test with and without isolation.
func each(t *testing.T, test func(t *testing.T, r *program.Runner)) {
	needtest.Program(t, "sh")
	for _, l := range []sandbox.Launcher{&kernel.Launcher{}, host.Launcher{}} {
		t.Run(l.Name(), func(t *testing.T) {
			needtest.Sandbox(t, l)
			test(t, local(l))
		})
	}
}

func local(all ...sandbox.Launcher) *program.Runner {
	return &program.Runner{Tiers: sandbox.NewTiers(all...)}
}

func sh(text string, args ...string) []string {
	return append([]string{"sh", "-c", text, "sh"}, args...)
}

func TestInputAndOutput(t *testing.T) {
	each(t, func(t *testing.T, r *program.Runner) {
		long := bytes.Repeat([]byte("0123456789abcdef"), 1<<18) // more than pipes hold
		var out bytes.Buffer
		err := r.Run(t.Context(), program.Spec{Argv: []string{"cat"}, Tier: sandbox.Local}, bytes.NewReader(long), &out)
		if err != nil || !bytes.Equal(out.Bytes(), long) {
			t.Errorf("%d bytes, %v", out.Len(), err)
		}
		// A program need not read what it is given.
		if err := r.Run(t.Context(), program.Spec{Argv: sh("exit 0"), Tier: sandbox.Local}, bytes.NewReader(long), nil); err != nil {
			t.Error(err)
		}
	})
}

// TestLeftBehind checks that Run ends with its program, also if a descendant goes on and holds stdout.
func TestLeftBehind(t *testing.T) {
	each(t, func(t *testing.T, r *program.Runner) {
		var out bytes.Buffer
		err := r.Run(t.Context(), program.Spec{Argv: sh("sleep 10000 & echo done"), Tier: sandbox.Local}, nil, &out)
		if err != nil || out.String() != "done\n" {
			t.Errorf("%q, %v", out.String(), err)
		}
	})
}

func TestFailures(t *testing.T) {
	broken := errors.New("broken")
	each(t, func(t *testing.T, r *program.Runner) {
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		tests := []struct {
			name string
			ctx  context.Context
			p    program.Spec
			want string
			is   error
		}{
			{"missing", t.Context(), program.Spec{Argv: []string{"no-such-program"}}, "not installed",
				program.ErrMissing},
			{"code", t.Context(), program.Spec{Argv: sh("echo why >&2; exit 3")}, "sh failed: exit code 3: why", nil},
			{"time", t.Context(), program.Spec{Argv: sh("sleep 3600"), Timeout: 50 * time.Millisecond},
				"sh failed: it took more than 50ms", nil},
			{"signal", t.Context(), program.Spec{Argv: sh("kill -TERM $$")}, "sh failed: it was ended by SIGTERM",
				nil},
			{"output", t.Context(), program.Spec{Argv: sh("while :; do echo x; done")},
				"broken", broken},
			{"input", t.Context(), program.Spec{Argv: sh("cat")}, "broken", broken},
			{"cancelled", ended, program.Spec{Argv: sh("sleep 3600")}, "context canceled", context.Canceled},
			{"no file", t.Context(), program.Spec{Argv: sh("exit 0"), Read: []string{"/no/such/file"}},
				"no such file", nil},
		}
		for _, tt := range tests {
			var in io.Reader
			var out io.Writer
			switch tt.name {
			case "input":
				in = iotest.ErrReader(broken)
			case "output":
				out = failing{broken}
			}
			tt.p.Tier = sandbox.Local
			err := r.Run(tt.ctx, tt.p, in, out)
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	})
}

func TestCancelEndsTheProgram(t *testing.T) {
	each(t, func(t *testing.T, r *program.Runner) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		// What it starts in the background holds stdout open, too.
		err := r.Run(ctx, program.Spec{Argv: sh("sleep 3600 & echo begun; wait"), Tier: sandbox.Local}, nil,
			writer(func() { cancel() }))
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

func TestIsolation(t *testing.T) {
	l := &kernel.Launcher{}
	needtest.Sandbox(t, l)
	r := local(l)
	dir := t.TempDir()
	given, other := filepath.Join(dir, "given"), filepath.Join(dir, "other")
	for _, path := range []string{given, other} {
		if err := os.WriteFile(path, []byte("content of "+filepath.Base(path)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	tests := []struct{ name, script, want string }{
		{"the file is read", `cat "$1"`, "content of given"},
		{"it is not changed", `echo no > "$1" || echo kept`, "kept"},
		{"others are not seen", `cat "$2" || echo hidden`, "hidden"},
		{"no network", `(exec 3<>/dev/tcp/127.0.0.1/$3) || echo none`, "none"},
		{"scratch space", `echo space > "$TMPDIR/x" && cat "$TMPDIR/x"`, "space"},
	}
	shell := needtest.Program(t, "bash")
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	for _, tt := range tests {
		var out strings.Builder
		err := r.Run(t.Context(), program.Spec{
			Argv: []string{shell, "-c", tt.script, "sh", given, other, port}, Read: []string{given},
		}, nil, &out)
		if err != nil || strings.TrimSpace(out.String()) != tt.want {
			t.Errorf("%s: %q, %v", tt.name, out.String(), err)
		}
	}
}

func TestTheFirstThatWorksIsUsed(t *testing.T) {
	s := program.Spec{Argv: sh("exit 0"), Tier: sandbox.Local}
	if err := local(broken{}, host.Launcher{}).Run(t.Context(), s, nil, nil); err != nil {
		t.Error(err)
	}
	if err := local(broken{}).Run(t.Context(), s, nil, nil); err == nil {
		t.Error("it ran without a sandbox")
	}
}

// broken is a launcher that does not work.
type broken struct{ sandbox.Launcher }

func (broken) Name() string { return "broken" }

func (broken) Layout(sandbox.Directories) sandbox.Layout { return sandbox.Layout{} }

func (broken) Probe(context.Context) sandbox.ProbeResult { return sandbox.ProbeResult{} }

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

type writer func()

func (w writer) Write(p []byte) (int, error) {
	w()
	return len(p), nil
}

// TestOwnSandbox checks that only a program which is said to have a sandbox of its own may create namespaces, and not those
// with which it could mount something.
func TestOwnSandbox(t *testing.T) {
	l := &kernel.Launcher{}
	if !l.Probe(t.Context()).Proxy {
		needtest.Lacking(t, "namespaces", "the sandbox has none here")
	}
	unshare := needtest.Program(t, "unshare")
	for _, tt := range []struct {
		options []string // of the second unshare, in a namespace of users where a program may do more
		nested  bool
		works   bool
	}{
		{nil, false, false}, {nil, true, true}, {[]string{"--net"}, true, true}, {[]string{"--mount"}, true, false},
		{[]string{"--uts"}, true, false}, {[]string{"--ipc"}, true, false}, {[]string{"--cgroup"}, true, false},
	} {
		argv := slices.Concat([]string{unshare, "--user", "--map-root-user", unshare}, tt.options, []string{"true"})
		err := local(l).Run(t.Context(), program.Spec{Argv: argv, Nested: tt.nested}, nil, nil)
		if (err == nil) != tt.works {
			t.Errorf("%q, nested %v: %v", argv, tt.nested, err)
		}
	}
}

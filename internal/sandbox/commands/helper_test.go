package commands

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestMain also runs the test binary as the stage and the agent of a sandbox.
func TestMain(m *testing.M) {
	sandboxtest.Play(nil)
	os.Exit(m.Run())
}

// hang is for what would otherwise go on for ever.
const hang = 5 * time.Minute

// newCommands returns commands on the host, in a workspace of their own.
func newCommands(t testing.TB, change ...func(*Options)) *Commands {
	t.Helper()
	ws, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{
		Tiers:       sandbox.NewTiers(host.Launcher{}),
		Mode:        func(tool.Caller) Policy { return Policy{Mode: Host} },
		Directories: func(context.Context) (sandbox.Directories, error) { return sandbox.Directories{Dir: ws}, nil },
		Dir: func(_ context.Context, path string) (string, string, error) {
			dir := filepath.Join(ws, path)
			if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
				return "", "", tool.Errorf(tool.NotFound, "no directory %q", path)
			}
			return dir, "1:2", nil
		},
		Spool: filepath.Join(t.TempDir(), "spool"),
	}
	for _, f := range change {
		f(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// as returns a context of a call of somebody's.
func as(ctx context.Context, agent, session string) context.Context {
	return tool.With(ctx, &tool.Running{Caller: tool.Caller{Agent: agent, Session: session}})
}

func caller(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	t.Cleanup(cancel)
	return as(ctx, "a", "s")
}

// sh is a command of a shell.
func sh(text string) sandbox.Command {
	return sandbox.Command{Argv: []string{"/bin/sh", "-c", text}, Text: text}
}

func start(ctx context.Context, t testing.TB, c *Commands, cmd sandbox.Command) *process {
	t.Helper()
	p, err := c.Start(ctx, cmd)
	if err != nil {
		t.Fatalf("starting %q: %v", cmd.Argv, err)
	}
	return p.(*process)
}

// finish waits for the end of a command, which must come.
func finish(ctx context.Context, t testing.TB, p *process) sandbox.Status {
	t.Helper()
	s := p.Wait(ctx, sandbox.WaitCondition{})
	if s.State == sandbox.Running {
		t.Fatalf("%q is still running: %v", s.Text, ctx.Err())
	}
	return s
}

// run runs a command to its end and returns what it wrote to stdout.
func run(ctx context.Context, t testing.TB, c *Commands, cmd sandbox.Command) (string, sandbox.Status) {
	t.Helper()
	p := start(ctx, t, c, cmd)
	s := finish(ctx, t, p)
	return text(t, p.Log(sandbox.Stdout)), s
}

func text(t testing.TB, l sandbox.Log) string {
	t.Helper()
	all, err := io.ReadAll(io.NewSectionReader(l, 0, l.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return string(all)
}

// refused checks the kind of an error, and that it says what to do.
func refused(t testing.TB, err error, kind tool.Kind, says string) {
	t.Helper()
	var known *tool.Error
	if !errors.As(err, &known) || known.Kind != kind || !strings.Contains(known.Error(), says) {
		t.Errorf("got %v, want %s with %q", err, kind, says)
	} else if known.Next == "" {
		t.Errorf("%v does not say what to do", err)
	}
}

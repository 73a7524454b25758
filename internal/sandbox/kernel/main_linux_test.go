package kernel_test

import (
	"bytes"
	"context"
	"io"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/sandboxtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/selftest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// TestMain also runs the test binary in its other roles.
func TestMain(m *testing.M) {
	sandboxtest.Play(map[string]func([]string) int{
		selftest.Arg: selftest.Main, "attack": attack, "without": without, "server": server,
	})
	os.Exit(m.Run())
}

// hang bounds what would otherwise wait for ever.
const hang = 5 * time.Minute

// eachUser runs a test as root, where that is who we are, and as an ordinary
// user.
func eachUser(t *testing.T, test func(t *testing.T)) {
	if os.Geteuid() != 0 {
		t.Run("user", test)
		return
	}
	if only, err := os.ReadFile("/proc/self/uid_map"); err != nil ||
		slices.Equal(strings.Fields(string(only)), []string{"0", "0", "1"}) {
		test(t)
		return
	}
	t.Run("root", test)
	name := "-test.run=^" + strings.SplitN(t.Name(), "/", 2)[0] + "$"
	t.Run("user", func(t *testing.T) {
		runAs(t, testBinary(t), name, "-test.v")
	})
	t.Run("root in a namespace without other users", func(t *testing.T) {
		only := []syscall.SysProcIDMap{{Size: 1}}
		run(t, &syscall.SysProcAttr{
			Cloneflags: syscall.CLONE_NEWUSER, UidMappings: only, GidMappings: only,
		}, testBinary(t), name, "-test.v")
	})
}

// runAs runs the test binary as an ordinary user.
func runAs(t *testing.T, argv ...string) {
	t.Helper()
	run(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}, argv...)
}

// run runs the test binary as another user.
func run(t *testing.T, as *syscall.SysProcAttr, argv ...string) {
	t.Helper()
	cmd := osexec.Command(argv[0], argv[1:]...)
	cmd.SysProcAttr = as
	cmd.Dir = "/tmp"
	tmp := openDir(t)
	if as.Credential != nil {
		if err := os.Chown(tmp, int(as.Credential.Uid), int(as.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	cmd.Env = append(os.Environ(), "HOME=/nonexistent", "TMPDIR="+tmp)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("PASS")) {
		t.Errorf("as another user: %v\n%s", err, out)
	}
}

// testBinary is a copy of this program that others can read.
func testBinary(t testing.TB) string {
	dir := openDir(t)
	path := filepath.Join(dir, "kernel.test")
	from, err := os.Open("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	// Whoever is started meanwhile would have it open to write for a moment, and
	// such a file cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(to, from)
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// openDir is a directory that everybody can enter, unlike that of the testing
// package.
func openDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "kernel-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A sink collects what a command says.
type sink struct {
	mu       sync.Mutex
	out, err bytes.Buffer
	exit     wire.ExitBody
	exited   chan struct{}
	gone     chan struct{}
}

func (s *sink) Output(stream sandbox.Stream, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if stream == sandbox.Stderr {
		s.err.Write(data)
	} else {
		s.out.Write(data)
	}
}

func (s *sink) Skipped(sandbox.Stream, int64) {}

func (s *sink) Exited(e wire.ExitBody) { s.exit = e; close(s.exited) }

func (s *sink) Gone(err error) { close(s.gone) }

func (s *sink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.out.String() + s.err.String()
}

// A cell is a workspace and a box for it.
type cell struct {
	*box.Box
	t    testing.TB
	ws   string
	link sandbox.Link
}

func launcher() *kernel.Launcher { return &kernel.Launcher{} }

// open opens a box; change may change its spec.
func open(t testing.TB, l *kernel.Launcher, ws string, change func(*sandbox.Spec)) cell {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	layout := l.Layout(sandbox.Directories{Dir: ws})
	w := sandbox.Spec{ID: "test", Binds: layout.Binds, Home: layout.Home,
		Limits: sandbox.Limits{Temp: 64 << 20, Processes: 200}}
	if change != nil {
		change(&w)
	}
	link, err := l.Launch(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	b, err := box.Open(ctx, link)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return cell{b, t, ws, link}
}

// run runs a command to its end and returns its exit code and what it said.
func (c cell) run(argv ...string) (int, string) {
	c.t.Helper()
	s := c.start(argv...)
	select {
	case <-s.gone:
	case <-time.After(hang):
		c.t.Fatalf("%q does not end: %s", argv, s.text())
	}
	return s.exit.Code, s.text()
}

func (c cell) start(argv ...string) *sink {
	c.t.Helper()
	s := &sink{exited: make(chan struct{}), gone: make(chan struct{})}
	_, err := c.Start(c.t.Context(), wire.StartBody{
		Argv: argv, Dir: c.ws, Timeout: hang,
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/local/go/bin", "HOME=/home/sandbox", "TMPDIR=/tmp",
			"LANG=C.UTF-8"},
	}, s)
	if err != nil {
		c.t.Fatalf("%q: %v", argv, err)
	}
	return s
}

func (c cell) sh(text string) (int, string) {
	c.t.Helper()
	return c.run("/bin/sh", "-c", text)
}

// must runs a shell command that has to succeed, and returns what it said.
func (c cell) must(text string) string {
	c.t.Helper()
	code, out := c.sh(text)
	if code != 0 {
		c.t.Errorf("%s: %d: %s", text, code, out)
	}
	return strings.TrimSpace(out)
}

// fails runs a shell command that must not succeed.
func (c cell) fails(text string) {
	c.t.Helper()
	if code, out := c.sh(text); code == 0 {
		c.t.Errorf("%s: succeeded: %s", text, out)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

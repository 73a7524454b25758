//go:build linux

package box_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
)

// unprivileged starts agents as a user without rights, who has at most 400
// processes whatever happens. The user is nobody else's: those that other tests
// run at the same time would count.
func unprivileged(t testing.TB) host.Launcher {
	t.Helper()
	args := []string{agent.Name, "-processes", "400"}
	if os.Getuid() != 0 {
		return host.Launcher{Self: append([]string{"/proc/self/exe"}, args...)}
	}
	setpriv := needtest.Program(t, "setpriv")
	dir, err := os.MkdirTemp("", "box")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	self := filepath.Join(dir, "agent")
	if err := copyFile(self, "/proc/self/exe"); err != nil {
		t.Fatal(err)
	}
	user := strconv.Itoa(20_000 + os.Getpid()%40_000)
	return host.Launcher{Self: append([]string{setpriv, "--reuid=" + user, "--regid=" + user, "--clear-groups", self},
		args...)}
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	// Whoever is started meanwhile would have it open to write for a moment, and
	// such a file cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// TestForkBomb checks that a fork bomb is stopped although it multiplies faster than it is counted, and that
// the next command runs.
func TestForkBomb(t *testing.T) {
	b := openWith(t, unprivileged(t), sandbox.Spec{})
	for _, text := range []string{
		`bomb() { bomb | bomb & sleep 1000; }; bomb`,
		`setsid sh -c "$BOMB" $0 & setsid sh -c "$BOMB" $0 & (env -i setsid sleep 1000 &) ; sleep 1000`,
	} {
		mark := token()
		body := sh(text)
		body.Argv = append(body.Argv, mark)
		body.Env = append(body.Env, "BOMB="+text)
		body.Limits.Processes = 64
		s := run(t, b, body)
		wait(t, "gone", s.gone)
		t.Logf("%+v", s.exit)
		if s.exit.LimitExceeded != "processes" {
			t.Errorf("%+v", s.exit)
		}
		nobody(t, mark)
		if s := run(t, b, sh("echo well")); s.stdout() != "well\n" {
			t.Errorf("afterwards: %q %q", s.stdout(), s.stderr())
		}
	}
}

// TestALimitIsReportedForACommandThatHasEnded has commands that end before their descendants are counted.
func TestALimitIsReportedForACommandThatHasEnded(t *testing.T) {
	b := openWith(t, unprivileged(t), sandbox.Spec{})
	for name, streams := range map[string]string{
		"streams stay open": "",
		"streams close":     ">/dev/null 2>&1 </dev/null",
	} {
		t.Run(name, func(t *testing.T) {
			mark := token()
			body := sh("for n in 1 2 3 4 5 6 7 8; do " + idle(mark) + " & done " + streams + "; exit 3")
			body.Limits.Processes = 5
			s := run(t, b, body)
			wait(t, "gone", s.gone)
			if s.exit.LimitExceeded != "processes" {
				t.Errorf("%+v", s.exit)
			}
			nobody(t, mark)
		})
	}
}

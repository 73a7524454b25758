//go:build linux

package box_test

import (
	"bytes"
	"crypto/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// token is an argument by which a process is found again.
func token() string { return "token" + rand.Text() }

// idle is a command line that does nothing for long, with a token.
func idle(token string) string { return "sh -c 'while :; do sleep 1; done' " + token }

// carriers are the processes that carry a token in their command line.
func carriers(token string) []int {
	var found []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte(token)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			found = append(found, pid)
		}
	}
	return found
}

// nobody fails when a process carries a token, and gives those time that are
// on their way out.
func nobody(t *testing.T, token string) {
	t.Helper()
	end := time.Now().Add(hang)
	for {
		found := carriers(token)
		if len(found) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%d processes have outlived their command", len(found))
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// stubborn is a command that leaves processes behind in every way there is, all
// with the token, and then goes on.
func stubborn(token, last string) string {
	loop := "'trap \"\" TERM HUP INT; while :; do sleep 1; done' " + token
	return strings.Join([]string{
		"sh -c " + loop + " &",
		"(sh -c " + loop + " &)",
		"setsid sh -c " + loop + " &",
		"(setsid sh -c " + loop + " >/dev/null 2>&1 </dev/null &)",
		"(env -i setsid sh -c " + loop + " >/dev/null 2>&1 &)",
		"(env -i setsid setsid sh -c " + loop + " >/dev/null 2>&1 &)",
		"nohup sh -c " + loop + " >/dev/null 2>&1 &",
		"echo ready",
		last,
	}, "\n")
}

func TestTheWholeTreeIsKilled(t *testing.T) {
	for _, c := range []struct {
		name, last string
		timeout    time.Duration
		kill, poor bool
	}{
		{name: "killed by somebody with few rights", last: "sleep 1000", kill: true, poor: true},
		{name: "killed", last: "sleep 1000", kill: true},
		{name: "killed although it does not want to", last: "trap '' TERM; while :; do sleep 1; done", kill: true},
		{name: "stopped before", last: "kill -STOP $$", kill: true},
		{name: "timed out", last: "sleep 1000", timeout: 300 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			launcher := host.Launcher{}
			if c.poor {
				launcher = unprivileged(t)
			}
			b := openWith(t, launcher, sandbox.Spec{})
			mark, before := token(), token()
			earlier := run(t, b, sh("setsid "+idle(before)+" >/dev/null 2>&1 & sleep 0.05"))
			if earlier.exit.Left == 0 {
				t.Errorf("an earlier command left %d", earlier.exit.Left)
			}
			body := sh(stubborn(mark, c.last))
			body.Timeout = c.timeout
			child, s := start(t, b, body)
			for c.timeout > 0 && !s.comesTo(t, "ready") { // its time is over before it had any
				body.Timeout *= 4
				child, s = start(t, b, body)
			}
			s.until(t, "ready")
			if c.kill {
				if err := child.Kill(); err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			wait(t, "gone", s.gone)
			t.Logf("gone after %s", time.Since(begun))
			nobody(t, mark)
			if s.exit.Killed != c.kill || s.exit.TimedOut == c.kill || s.exit.Signal == "" || s.exit.Left != 0 {
				t.Errorf("%+v", s.exit)
			}
			if len(carriers(before)) == 0 {
				t.Error("what an earlier command left went with it")
			}
			if err := b.Close(); err != nil {
				t.Error(err)
			}
			nobody(t, before)
		})
	}
}

// TestLeftRunning checks that processes which a command leaves running are reported, and do not delay its end
// though they hold its output open.
func TestLeftRunning(t *testing.T) {
	b := open(t)
	mark := token()
	child, s := start(t, b, sh("sh -c 'while :; do echo more; sleep 0.05; done' "+mark+" & echo done"))
	wait(t, "exit", s.exited)
	if s.exit.Left == 0 || !strings.Contains(s.stdout(), "done") {
		t.Errorf("%+v, %q", s.exit, s.stdout())
	}
	n := len(s.stdout())
	for len(s.stdout()) <= n {
		<-s.wrote // it is heard of
	}
	if b.Live() != 1 || len(carriers(mark)) == 0 {
		t.Errorf("%d live, %d run", b.Live(), len(carriers(mark)))
	}
	if err := child.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
	nobody(t, mark)
	if s.exit.Killed {
		t.Error("it ended by itself, and is said to have been killed")
	}
}

// TestLeftRunningEnds reports the end of a process that was left running.
func TestLeftRunningEnds(t *testing.T) {
	b := open(t)
	for _, text := range []string{
		"sleep 0.4 & echo done",
		"setsid sleep 0.4 >/dev/null 2>&1 & sleep 0.1; echo done",
		"(env -i setsid sh -c 'sleep 0.2; sleep 0.2' >/dev/null 2>&1 &) ; sleep 0.1; echo done",
	} {
		s := run(t, b, sh(text))
		if s.exit.Left == 0 {
			t.Errorf("%s: left %d", text, s.exit.Left)
		}
		wait(t, "gone", s.gone)
	}
}

// TestStreamHeldByOthers kills a command whose output another process holds open: the end is not delayed.
func TestStreamHeldByOthers(t *testing.T) {
	b := open(t)
	c, s := start(t, b, sh("echo up; sleep 1000"))
	s.until(t, "up")
	thief, o := start(t, b, sh("exec 3>/proc/"+strconv.Itoa(c.PID())+"/fd/1; echo up; sleep 1000"))
	o.until(t, "up")
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
	if err := thief.Kill(); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", o.gone)
}

func TestLimits(t *testing.T) {
	b := open(t)
	t.Run("memory", func(t *testing.T) {
		mark := token()
		body := sh("(setsid tail /dev/zero " + mark + " >/dev/null 2>&1 & tail /dev/zero; sleep 1000)")
		body.Limits.Memory = 64 << 20
		s := run(t, b, body)
		wait(t, "gone", s.gone)
		t.Logf("%+v", s.exit)
		if s.exit.LimitExceeded != "memory" && s.exit.Code == 0 {
			t.Errorf("%+v", s.exit)
		}
		nobody(t, mark)
	})
	t.Run("memory of many", func(t *testing.T) {
		body := sh("for i in 1 2 3 4 5 6; do (head -c 16000000 /dev/zero | (read -r x; sleep 1000)) & done; for i in 1 2 3 4 5 6; do dd if=/dev/zero of=/dev/null bs=30M count=100000 2>/dev/null & done; wait")
		body.Limits.Memory = 64 << 20
		s := run(t, b, body)
		wait(t, "gone", s.gone)
		if s.exit.LimitExceeded != "memory" || s.exit.Memory < 64<<20 {
			t.Errorf("%+v", s.exit)
		}
	})
	t.Run("processes", func(t *testing.T) {
		mark := token()
		body := sh("i=0; while [ $i -lt 40 ]; do " + idle(mark) + " & i=$((i+1)); done; wait; sleep 1000")
		body.Limits.Processes = 20
		s := run(t, b, body)
		wait(t, "gone", s.gone)
		if s.exit.LimitExceeded != "processes" {
			t.Errorf("%+v", s.exit)
		}
		nobody(t, mark)
	})
	t.Run("file size", func(t *testing.T) {
		body := sh("sleep 0.05; head -c 3000000 /dev/zero > big; ls -l big | awk '{print $5}'")
		body.Dir = t.TempDir()
		body.Limits.FileSize = 1 << 20
		if s := run(t, b, body); s.stdout() != "1048576\n" {
			t.Errorf("%q %q", s.stdout(), s.stderr())
		}
	})
	t.Run("time of the processor", func(t *testing.T) {
		body := sh("while :; do :; done")
		body.Limits.CPUTime = time.Second
		s := run(t, b, body)
		if s.exit.Signal == "" || s.exit.CPU < 500*time.Millisecond {
			t.Errorf("%+v", s.exit)
		}
	})
	t.Run("core", func(t *testing.T) {
		if s := run(t, b, sh("ulimit -c")); s.stdout() != "0\n" {
			t.Errorf("%q", s.stdout())
		}
	})
	if s := run(t, b, wire.StartBody{Argv: []string{"echo", "well"}, Env: []string{path}}); s.stdout() != "well\n" {
		t.Errorf("afterwards: %q", s.stdout())
	}
}

//go:build linux

package box_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/host"
)

// TestServerIsKilled kills the server in several ways: everything that it has started ends.
func TestServerIsKilled(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			mark := token()
			cmd := exec.Command("/proc/self/exe", "victim", stubborn(mark, "while :; do echo flood; done"))
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			var agent int
			if _, scan := fmt.Sscanf(line, "agent %d", &agent); scan != nil || err != nil {
				t.Fatalf("the server says %q: %v", line, err)
			}
			if len(carriers(mark)) < 7 {
				t.Errorf("only %d processes run", len(carriers(mark)))
			}
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			_ = cmd.Wait()
			nobody(t, mark)
			t.Logf("gone after %s", time.Since(begun))
			end := time.Now().Add(hang)
			for runs(agent) && time.Now().Before(end) {
				time.Sleep(time.Millisecond)
			}
			if runs(agent) {
				t.Error("the agent has outlived its server")
			}
		})
	}
}

// runs says that a process has not ended, even if nobody has noticed its end.
func runs(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(text), ") Z ")
}

// TestAgentIsKilled kills the agent from a command without a sandbox: everything ends.
func TestAgentIsKilled(t *testing.T) {
	b := open(t)
	mark, other := token(), token()
	_, o := start(t, b, sh("setsid "+idle(other)+" & echo up; "+idle(other)))
	o.until(t, "up")
	body := sh("setsid " + idle(mark) + " & read x; kill -9 $PPID; " + idle(mark))
	body.Input = true
	c, s := start(t, b, body)
	if err := c.Input(t.Context(), []byte("now\n")); err != nil {
		t.Fatal(err)
	}
	wait(t, "gone", s.gone)
	wait(t, "gone", o.gone)
	wait(t, "done", b.Done())
	for _, err := range []error{s.lost, o.lost, b.Err()} {
		if !errors.Is(err, box.ErrLost) {
			t.Errorf("lost: %v", err)
		}
	}
	if _, err := b.Start(t.Context(), sh("true"), newSink()); !errors.Is(err, box.ErrLost) {
		t.Errorf("starting in what is lost: %v", err)
	}
	nobody(t, mark)
	nobody(t, other)
}

func TestClosingEndsEverything(t *testing.T) {
	b := open(t)
	mark := token()
	_, s := start(t, b, sh(stubborn(mark, "sleep 1000")))
	s.until(t, "ready")
	begun := time.Now()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	t.Logf("closed after %s", time.Since(begun))
	wait(t, "gone", s.gone)
	if s.lost != nil && !errors.Is(s.lost, box.ErrLost) {
		t.Errorf("lost: %v", s.lost)
	}
	nobody(t, mark)
	if err := b.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
}

func TestAgentsThatAreNone(t *testing.T) {
	for _, c := range []struct {
		name string
		self []string
		want string
	}{
		{"not there", []string{"/nonesuch"}, "no such file"},
		{"says nothing", []string{"/bin/true"}, "EOF"},
		{"has last words", []string{"/bin/sh", "-c", "echo out of luck >&2; exit 1"}, "out of luck"},
		{"says something else", []string{"/bin/echo", "hello, I am no agent"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			link, err := host.Launcher{Self: c.self}.Launch(t.Context(), sandbox.Spec{})
			if err == nil {
				_, err = box.Open(t.Context(), link)
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v", err)
			}
		})
	}
	if _, err := (host.Launcher{}).Launch(t.Context(),
		sandbox.Spec{Require: []sandbox.Guarantee{sandbox.Files}}); err == nil {
		t.Error("the host claims isolation")
	}
}

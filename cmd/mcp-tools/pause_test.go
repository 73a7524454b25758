//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestPause stops the calls and the background commands of two servers on one data
// directory, from a third process.
func TestPause(t *testing.T) {
	data := t.TempDir()
	one, two := startRunner(t, "host", data, t.TempDir()), startRunner(t, "host", data, t.TempDir())
	operate := func(args ...string) {
		t.Helper()
		finish(t, exec.Command(one.cmd.Path, append(args, "--data", data)...))
	}
	both := []*runner{one, two}
	begin := func() {
		for _, r := range both {
			for got := ""; got != "warm"; {
				r.ask(1, map[string]any{"command": "echo warm"})
				if got = r.answer(); got != "warm" && !strings.Contains(got, "has paused") { // it will read of the end
					t.Fatalf("the server answers %q", got)
				}
				time.Sleep(10 * time.Millisecond)
			}
			r.ask(2, map[string]any{"command": r.stubborn(), "background": true, "timeout": 600})
			if got := r.answer(); !strings.Contains(got, "runs; go on with process") {
				t.Fatalf("the server answers %q", got)
			}
			r.ask(3, map[string]any{"command": r.stubborn(), "timeout": 600})
			r.until("the start", func(n int) bool { return n >= 8 })
		}
	}
	begin()
	operate("pause", "--reason", "the deployment is broken")
	paused := time.Now()
	for _, r := range both {
		if got := r.answer(); !strings.Contains(got, "the operator has paused all calls: the deployment is broken") {
			t.Errorf("the stopped call answers %q", got)
		}
		r.until("pausing", func(n int) bool { return n == 0 })
		r.ask(4, map[string]any{"command": "echo on"})
		if got := r.answer(); !strings.HasPrefix(got, "refused: the operator has paused all calls") {
			t.Errorf("while it is paused a server answers %q", got)
		}
	}
	t.Logf("everything had ended after %s", time.Since(paused))
	third := startRunner(t, "host", data, t.TempDir())
	third.ask(1, map[string]any{"command": "echo on"})
	if got := third.answer(); !strings.HasPrefix(got, "refused: the operator has paused all calls") {
		t.Errorf("a new server answers %q", got)
	}
	operate("resume")
	begin()

	operate("pause", "--agent", "somebody else")
	operate("pause", "--session", "stdio-0-0")
	for _, r := range both {
		r.ask(5, map[string]any{"command": "echo on"})
		if got := r.answer(); !strings.HasPrefix(got, "on") {
			t.Errorf("a server whose caller is not paused answers %q", got)
		}
		if n := len(r.living()); n < 8 {
			t.Errorf("%d processes run", n)
		}
	}
}

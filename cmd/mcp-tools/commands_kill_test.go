//go:build linux

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// A runner is a server process that runs commands.
type runner struct {
	t       testing.TB
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	data    string
	ws      string
	watched string // what marks its commands
}

// marks are the words by which the commands of a test are known in /proc.
func mark(t testing.TB) string {
	return fmt.Sprintf("MCP_TOOLS_TEST=%d-%x", os.Getpid(), time.Now().UnixNano()) + filepath.Base(t.Name())
}

// startRunner starts a server in one of the tiers, in directories that may have
// been used before.
func startRunner(t testing.TB, tier, data, ws string) *runner {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "mcp-tools") // TestMain goes by the name
	if err := os.Symlink(self, name); err != nil {
		t.Fatal(err)
	}
	r := &runner{t: t, data: data, ws: ws, watched: mark(t)}
	r.cmd = exec.Command(name, "--data", data, "--workspace", ws, "--profile", "coding", "--autonomy", "full", "--sandbox", tier)
	r.cmd.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "XDG_CONFIG_HOME="+filepath.Join(data, "none"))
	in, errIn := r.cmd.StdinPipe()
	out, errOut := r.cmd.StdoutPipe()
	for _, err := range []error{errIn, errOut, r.cmd.Start()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	r.in, r.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait() // an error does not matter
	})
	return r
}

// ask sends a call of exec and does not wait.
func (r *runner) ask(id int, args map[string]any) {
	r.t.Helper()
	line, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": map[string]any{"name": "exec", "arguments": args},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.in.Write(append(line, '\n')); err != nil {
		r.t.Fatal(err)
	}
}

// answer is the text of the next answer.
func (r *runner) answer() string {
	r.t.Helper()
	line, err := r.out.ReadBytes('\n')
	if err != nil {
		r.t.Fatalf("no answer: %q, %v", line, err)
	}
	var m struct {
		Result struct{ Content []struct{ Text string } }
	}
	if err := json.Unmarshal(line, &m); err != nil || len(m.Result.Content) == 0 {
		r.t.Fatalf("the answer is %q, %v", line, err)
	}
	return m.Result.Content[0].Text
}

// stubborn is a command with children that ignore signals, that left their group,
// session and parent, and that cleared their environment. It writes a line when all
// of them run.
func (r *runner) stubborn() string {
	const sleeper = `sh -c ': %s; trap "" TERM HUP INT; while :; do sleep 0.05; done' >/dev/null 2>&1 &`
	child := fmt.Sprintf(sleeper, r.watched)
	return strings.Join([]string{
		child, "setsid " + child, "( ( env -i PATH=$PATH setsid " + child + " ) & )", "echo begun", ": " + r.watched,
		`trap "" TERM; while :; do sleep 0.05; done`,
	}, "\n")
}

// living are the processes of the commands.
func (r *runner) living() (found []string) {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		r.t.Fatal(err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && bytes.Contains(text, []byte(r.watched)) {
			found = append(found, filepath.Base(filepath.Dir(name)))
		}
	}
	return found
}

// until waits until there are so many of them, or enough.
func (r *runner) until(what string, enough func(n int) bool) {
	r.t.Helper()
	late := time.After(hang)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !enough(len(r.living())) {
		select {
		case <-tick.C:
		case <-late:
			r.t.Fatalf("%s: %d processes run: %v", what, len(r.living()), r.living())
		}
	}
}

// tiers are those that work here and need nothing but this machine.
func tiers(t *testing.T, test func(t *testing.T, tier string)) {
	t.Run("host", func(t *testing.T) { test(t, "host") })
	t.Run("kernel", func(t *testing.T) {
		needtest.Sandbox(t, &kernel.Launcher{})
		test(t, "kernel")
	})
}

// TestNothingIsLeft checks that no process of a command survives the server,
// however the server ends, not even a process that ignores signals and has left
// its session. The next start removes files that the last server could not
// remove.
func TestNothingIsLeft(t *testing.T) {
	ends := map[string]func(r *runner) error{
		"end of input": func(r *runner) error { return r.in.Close() },
		"SIGTERM":      func(r *runner) error { return r.cmd.Process.Signal(syscall.SIGTERM) },
		"SIGKILL":      func(r *runner) error { return r.cmd.Process.Kill() },
	}
	tiers(t, func(t *testing.T, tier string) {
		data, ws := t.TempDir(), t.TempDir()
		var ended []int
		for name, end := range ends {
			r := startRunner(t, tier, data, ws)
			ended = append(ended, r.cmd.Process.Pid)
			r.ask(1, map[string]any{"command": r.stubborn()})
			r.ask(2, map[string]any{"command": r.stubborn(), "background": true})
			r.until("the start", func(n int) bool { return n >= 8 })
			if err := end(r); err != nil {
				t.Fatal(err)
			}
			r.until(name, func(n int) bool { return n == 0 })
			if err := r.cmd.Wait(); (err == nil) != (name != "SIGKILL") {
				t.Errorf("after %s the server ends with %v", name, err)
			}
		}
		r := startRunner(t, tier, data, ws)
		r.ask(1, map[string]any{"command": "echo on"})
		if got := r.answer(); got != "on" {
			t.Errorf("the next one answers %q", got)
		}
		if runs := r.spools(); len(runs) != 0 {
			t.Errorf("what earlier ones left is still there: %q", runs)
		}
		if groups := leftGroups(ended); len(groups) != 0 {
			t.Errorf("control groups are left: %q", groups)
		}
		if err := r.in.Close(); err != nil {
			t.Fatal(err)
		}
		if err := r.cmd.Wait(); err != nil {
			t.Error(err)
		}
		if runs := r.spools(); len(runs) != 0 {
			t.Errorf("it left %q", runs)
		}
	})
}

// spools returns the directories in which servers keep the output of commands.
func (r *runner) spools() []string {
	found, err := filepath.Glob(filepath.Join(r.data, "commands", "run-*"))
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// leftGroups returns the control groups of these servers. Groups of other servers
// do not count: a test run that was killed may have left some.
func leftGroups(servers []int) (left []string) {
	for _, pid := range servers {
		for _, parent := range []string{"", "*/", "*/*/*/"} {
			found, _ := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/%smcp-tools-%d-*", parent, pid)) // the pattern is good
			left = append(left, found...)
		}
	}
	return left
}

// TestResponsesAfterEndOfInput checks that a call that is ended by the end of input
// responds with its output so far and with the reason.
func TestResponsesAfterEndOfInput(t *testing.T) {
	tiers(t, func(t *testing.T, tier string) {
		r := startRunner(t, tier, t.TempDir(), t.TempDir())
		r.ask(1, map[string]any{"command": "echo warm"})
		r.answer()
		r.ask(2, map[string]any{"command": r.stubborn()})
		r.until("the start", func(n int) bool { return n >= 4 })
		if err := r.in.Close(); err != nil {
			t.Fatal(err)
		}
		if got := r.answer(); !strings.HasPrefix(got, "begun") || !strings.Contains(got, "shutting down") {
			t.Errorf("the answer is %q", got)
		}
	})
}

// TestCancelledTree cancels a call: its whole process tree ends, and the server keeps running.
func TestCancelledTree(t *testing.T) {
	tiers(t, func(t *testing.T, tier string) {
		r := startRunner(t, tier, t.TempDir(), t.TempDir())
		for id := range 20 {
			r.ask(id, map[string]any{"command": r.stubborn()})
			if id%2 == 0 { // some before they run
				r.cancel(id)
			}
		}
		r.until("the start", func(n int) bool { return n >= 4 })
		for id := range 20 {
			r.cancel(id)
		}
		r.until("cancelling", func(n int) bool { return n == 0 })
		r.ask(100, map[string]any{"command": "echo on"})
		if got := r.answer(); got != "on" {
			t.Errorf("afterwards it answers %q", got)
		}
	})
}

func (r *runner) cancel(id int) {
	r.t.Helper()
	const line = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}` + "\n"
	if _, err := fmt.Fprintf(r.in, line, id); err != nil {
		r.t.Fatal(err)
	}
}

//go:build unix

package commands

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func TestRunsOnTheHost(t *testing.T) {
	t.Setenv("OF_THE_SERVER", "secret")
	t.Setenv("LC_ALL", "C")
	c := newCommands(t, func(o *Options) { o.Environ = []string{"EXTRA=yes", "LANG=xx"} })
	tests := []struct {
		name    string
		cmd     sandbox.Command
		out     string
		errText string
		code    int
	}{
		{"output", sh("echo hello; echo oops >&2; exit 3"), "hello\n", "oops\n", 3},
		{"no shell", sandbox.Command{Argv: []string{"echo", "$HOME;", "a  b"}}, "$HOME; a  b\n", "", 0},
		{"nothing is inherited", sh("echo ${OF_THE_SERVER-none} $EXTRA $LANG $LC_ALL $TERM"), "none yes xx C dumb\n",
			"", 0},
		{"own variables", sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo $A $EXTRA"},
			Env: []string{"A=1", "EXTRA=no"}}, "1 no\n", "", 0},
		{"no stdin", sh("cat; echo end"), "end\n", "", 0},
		{"stdin", sandbox.Command{Argv: []string{"cat"}, Stdin: []byte("given")}, "given", "", 0},
		{"one stream", sandbox.Command{Argv: []string{"/bin/sh", "-c", "echo a; echo b >&2; echo c"}, Merge: true},
			"a\nb\nc\n", "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := caller(t)
			p := start(ctx, t, c, tt.cmd)
			s := finish(ctx, t, p)
			if s.State != sandbox.Exited || s.Code != tt.code || text(t, p.Log(sandbox.Stdout)) != tt.out ||
				text(t, p.Log(sandbox.Stderr)) != tt.errText {
				t.Errorf("got %+v, stdout %q, stderr %q", s, text(t, p.Log(sandbox.Stdout)),
					text(t, p.Log(sandbox.Stderr)))
			}
			if s.Tier != "host" || !strings.HasPrefix(s.ID, "p_") || s.Text != tt.cmd.Text {
				t.Errorf("the status is %+v", s)
			}
		})
	}
	if len(c.instances) != 1 {
		t.Errorf("there are %d sandboxes for one session", len(c.instances))
	}
}

func TestDirectories(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	ground, err := c.o.Directories(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(ground.Dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := sandbox.Command{Argv: []string{"pwd"}, Dir: "sub"}
	if out, _ := run(ctx, t, c, cmd); out != filepath.Join(ground.Dir, "sub")+"\n" {
		t.Errorf("the directory is %q", out)
	}
	cmd.Dir = "gone"
	_, err = c.Start(ctx, cmd)
	if !errors.As(err, new(*tool.Error)) {
		t.Errorf("a directory that is not there gives %v", err)
	}
}

func TestRefusesWhatCannotBeStarted(t *testing.T) {
	c := newCommands(t)
	tests := []struct {
		name string
		cmd  sandbox.Command
		kind tool.Kind
		says string
	}{
		{"nothing", sandbox.Command{}, tool.Invalid, "no command"},
		{"no program", sandbox.Command{Argv: []string{"no-such-program"}}, tool.NotFound, `"no-such-program"`},
		{"zero byte", sandbox.Command{Argv: []string{"echo", "a\x00b"}}, tool.Invalid, "zero byte"},
		{"bad variable", sandbox.Command{Argv: []string{"echo"}, Env: []string{"=x"}}, tool.Invalid, "NAME=value"},
		{"too long", sandbox.Command{Argv: []string{"echo", strings.Repeat("x", maxWords)}}, tool.TooLarge, "file"},
		{"long stdin", sandbox.Command{Argv: []string{"cat"}, Stdin: make([]byte, maxInput+1)}, tool.TooLarge, "file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := c.Start(caller(t), tt.cmd)
			refused(t, err, tt.kind, tt.says)
		})
	}
	if len(c.running) != 0 {
		t.Errorf("%d commands count as running", len(c.running))
	}
	_, err := c.Start(t.Context(), sh("true"))
	refused(t, err, tool.Refused, "no caller")
}

func TestTimeAndKills(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	slow := sh("echo begun; sleep 1000")
	for slow.Timeout = 300 * time.Millisecond; ; slow.Timeout *= 4 { // until it comes to say something
		out, s := run(ctx, t, c, slow)
		if s.State != sandbox.TimedOut || out != "" && out != "begun\n" {
			t.Fatalf("a command that takes too long ends as %+v with %q", s, out)
		}
		if out != "" {
			break
		}
	}
	p := start(ctx, t, c, sh("trap '' TERM; echo begun; sleep 1000 & sleep 1000"))
	if s := p.Wait(ctx, sandbox.WaitCondition{Pattern: "^begun$"}); s.Matched != "begun" || s.State != sandbox.Running {
		t.Fatalf("waiting for a line gives %+v", s)
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if s := p.Status(); s.State != sandbox.Killed || s.Left != 0 {
		t.Errorf("a killed command is %+v", s)
	}
	if err := p.Kill(ctx); err != nil {
		t.Errorf("killing what is gone: %v", err)
	}
}

func TestChildrenThatGoOn(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	p := start(ctx, t, c, sh("sleep 1000 & echo $!"))
	if s := finish(ctx, t, p); s.State != sandbox.Exited || s.Left != 1 {
		t.Fatalf("a command with a child is %+v", s)
	}
	if err := p.Keep(ctx, false); err != nil {
		t.Fatal(err)
	}
	found, err := c.Process(ctx, p.Status().ID)
	if err != nil {
		t.Fatal(err)
	}
	if s := found.Status(); s.Left != 1 {
		t.Errorf("later it is %+v", s)
	}
	if err := found.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if s := found.Status(); s.State != sandbox.Exited || s.Left != 0 {
		t.Errorf("after the kill it is %+v", s)
	}
}

func TestTalkingToACommand(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	p := start(ctx, t, c, sandbox.Command{Argv: []string{"/bin/sh", "-c",
		`printf "name? "; read n; echo "hello $n"; cat`}, Open: true})
	if s := p.Wait(ctx, sandbox.WaitCondition{Pattern: `name\? $`}); s.Matched != "name? " {
		t.Fatalf("an unfinished line is not found: %+v", s)
	}
	if err := p.Write(ctx, []byte("you\n"), false); err != nil {
		t.Fatal(err)
	}
	p.Wait(ctx, sandbox.WaitCondition{Pattern: "hello you"})
	if err := p.Write(ctx, []byte("rest"), true); err != nil {
		t.Fatal(err)
	}
	if s := finish(ctx, t, p); s.Code != 0 || text(t, p.Log(sandbox.Stdout)) != "name? hello you\nrest" {
		t.Errorf("the end is %+v with %q", s, text(t, p.Log(sandbox.Stdout)))
	}
	refused(t, p.Write(ctx, []byte("x"), false), tool.Conflict, "has ended")
	silent := start(ctx, t, c, sh("sleep 1000"))
	refused(t, silent.Write(ctx, []byte("x"), false), tool.Conflict, "stdin")
	if s := silent.Wait(ctx, sandbox.WaitCondition{Idle: 50 * time.Millisecond}); !s.WasIdle ||
		s.State != sandbox.Running {
		t.Errorf("waiting for silence gives %+v", s)
	}
	deaf := start(ctx, t, c, sandbox.Command{Argv: []string{"sleep", "1000"}, Open: true})
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	var err error
	for range 8 {
		if err = deaf.Write(short, make([]byte, maxInput/2), false); err != nil {
			break
		}
	}
	refused(t, err, tool.Busy, "does not read")
}

// TestLostSandbox checks that a lost sandbox is replaced, and that what it ran is not run again.
func TestLostSandbox(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	p := start(ctx, t, c, sh("echo begun; sleep 1000"))
	p.Wait(ctx, sandbox.WaitCondition{Pattern: "begun"})
	if err := syscall.Kill(p.instance.box.PID(), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	s := finish(ctx, t, p)
	if s.State != sandbox.Lost || s.Why == "" || text(t, p.Log(sandbox.Stdout)) != "begun\n" {
		t.Errorf("it ends as %+v", s)
	}
	if out, s := run(ctx, t, c, sh("echo again")); out != "again\n" {
		t.Errorf("the next one: %q %+v", out, s)
	}
}

func TestManyAtOnce(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if out, s := run(ctx, t, c, sh("echo one; sleep 0.01; echo two")); out != "one\ntwo\n" ||
				s.State != sandbox.Exited {
				t.Errorf("%q %+v", out, s)
			}
		})
	}
	all.Wait()
	if len(c.instances) != 1 {
		t.Errorf("there are %d sandboxes", len(c.instances))
	}
}

func TestCancelStorm(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	var all sync.WaitGroup
	for i := range 60 {
		all.Go(func() {
			short, cancel := context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
			defer cancel()
			p, err := c.Start(short, sh("sleep 1000"))
			if err != nil {
				return
			}
			p.Wait(short, sandbox.WaitCondition{})
			if err := p.Remove(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if out, s := run(ctx, t, c, sh("echo still")); out != "still\n" {
		t.Errorf("afterwards: %q %+v", out, s)
	}
	busiest := func() (most int) {
		c.mu.Lock()
		defer c.mu.Unlock()
		for n := range c.instances {
			most = max(most, n.busy)
		}
		return most
	}
	for begun := time.Now(); busiest() > 1; time.Sleep(time.Millisecond) { // the end of a command is reported later
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("the sandbox counts %d commands", busiest())
		}
	}
}

func TestCloseWhileBusy(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	var all sync.WaitGroup
	for i := range 20 {
		p := start(ctx, t, c, sh("trap '' TERM; echo ready; sleep 1000 & wait"))
		p.Wait(ctx, sandbox.WaitCondition{Pattern: "ready"})
		all.Go(func() {
			if i%2 == 0 {
				_ = p.Remove(ctx)
			}
			if s := p.Wait(ctx, sandbox.WaitCondition{}); s.State == sandbox.Running {
				t.Errorf("it is %+v", s)
			}
		})
	}
	for range 10 {
		all.Go(func() { _, _ = c.Start(ctx, sh("sleep 1000")) })
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	all.Wait()
	_, err := c.Start(ctx, sh("true"))
	refused(t, err, tool.Unavailable, "shutting down")
	if len(c.instances)+len(c.running) != 0 {
		t.Errorf("after the end there are %d sandboxes and %d commands", len(c.instances), len(c.running))
	}
	if entries, err := os.ReadDir(c.o.Spool); len(entries) != 0 {
		t.Errorf("in the spool there are still %v, %v", entries, err)
	}
}

func TestSomebodyWatches(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	var seen strings.Builder
	cmd := sh("echo one; echo two >&2; sleep 0.05; echo three")
	cmd.Watch = func(_ sandbox.Stream, data []byte) { seen.Write(data) }
	finish(ctx, t, start(ctx, t, c, cmd))
	// The streams are read apart: each keeps its own order.
	if got := seen.String(); len(got) != len("one\ntwo\nthree\n") || !strings.Contains(got, "two\n") ||
		strings.Index(got, "three\n") < strings.Index(got, "one\n") {
		t.Errorf("the watcher saw %q", got)
	}
	// One that never returns holds up nobody but itself.
	stuck := make(chan struct{})
	defer close(stuck)
	cmd.Watch = func(sandbox.Stream, []byte) { <-stuck }
	p := start(ctx, t, c, cmd)
	if out, _ := run(ctx, t, c, sh("echo other")); out != "other\n" {
		t.Errorf("another command gives %q", out)
	}
	if s := finish(ctx, t, p); s.State != sandbox.Exited {
		t.Errorf("the watched one ends as %+v", s)
	}
}

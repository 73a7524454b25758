//go:build unix

package commands

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// TestProcessesOfOthers checks that a caller gets the same answer for a process of another caller and for one
// that never existed.
func TestProcessesOfOthers(t *testing.T) {
	c := newCommands(t)
	mine := as(caller(t), "ann", "one")
	p := start(mine, t, c, sh("sleep 1000"))
	beyond := start(mine, t, c, sh("sleep 1000"))
	alone := start(mine, t, c, sh("sleep 1000"))
	if err := errors.Join(p.Keep(mine, false), beyond.Keep(mine, true)); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, agent, session string
		p                    *process
		found                bool
	}{
		{"my own", "ann", "one", p, true},
		{"in another session", "ann", "two", p, false},
		{"of another", "ben", "one", p, false},
		{"of another in another", "ben", "two", p, false},
		{"my own, beyond", "ann", "one", beyond, true},
		{"beyond, in another session", "ann", "two", beyond, true},
		{"beyond, of another", "ben", "one", beyond, false},
		{"what was not left", "ann", "one", alone, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx := as(caller(t), tt.agent, tt.session)
			id := tt.p.Status().ID
			_, err := c.Process(ctx, id)
			if tt.found && err != nil {
				t.Errorf("not found: %v", err)
			}
			if !tt.found {
				refused(t, err, tool.NotFound, "no process")
				_, never := c.Process(ctx, "p_aaaaaaaaaaaa")
				if strings.ReplaceAll(never.Error(), "p_aaaaaaaaaaaa", id) != err.Error() {
					t.Errorf("%q is not like %q", err, never)
				}
			}
			all, err := c.Processes(ctx)
			if err != nil {
				t.Fatal(err)
			}
			listed := false
			for _, one := range all {
				listed = listed || one.Status().ID == id
			}
			if listed != tt.found {
				t.Errorf("listed: %t", listed)
			}
		})
	}
	if len(c.instances) != 1 {
		t.Errorf("there are %d sandboxes", len(c.instances))
	}
}

func TestSessionsEnd(t *testing.T) {
	c := newCommands(t)
	one, two := as(caller(t), "ann", "one"), as(caller(t), "ann", "two")
	left, beyond, foreground := start(one, t, c, sh("sleep 1000")), start(one, t, c, sh("sleep 1000")),
		start(one, t, c, sh("sleep 1000"))
	other := start(two, t, c, sh("sleep 1000"))
	done := start(one, t, c, sh("true"))
	finish(one, t, done)
	if err := errors.Join(left.Keep(one, false), beyond.Keep(one, true), other.Keep(two, false),
		done.Keep(one, false)); err != nil {
		t.Fatal(err)
	}
	if left.instance == other.instance {
		t.Error("two sessions share a sandbox")
	}
	c.EndSession("one")
	for name, p := range map[string]*process{"left": left, "foreground": foreground} {
		if s := p.Status(); s.State != sandbox.Killed {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for name, p := range map[string]*process{"beyond": beyond, "other": other} {
		if s := p.Status(); s.State != sandbox.Running {
			t.Errorf("%s: %+v", name, s)
		}
	}
	for _, p := range []*process{left, done} {
		if _, err := c.Process(one, p.Status().ID); err == nil {
			t.Errorf("%q is still there", p.Status().Text)
		}
	}
	if _, err := c.Process(two, beyond.Status().ID); err != nil {
		t.Errorf("what was left beyond the session: %v", err)
	}
	if err := beyond.Remove(two); err != nil {
		t.Error(err)
	}
	if out, _ := run(one, t, c, sh("echo again")); out != "again\n" {
		t.Errorf("the session that ended may go on: %q", out)
	}
}

func TestNumberOfKeptProcesses(t *testing.T) {
	c := newCommands(t, func(o *Options) { o.Background.Count = 2 })
	ctx := caller(t)
	done, running, next, more := start(ctx, t, c, sh("echo x")), start(ctx, t, c, sh("sleep 1000")),
		start(ctx, t, c, sh("sleep 1000")), start(ctx, t, c, sh("sleep 1000"))
	finish(ctx, t, done)
	<-done.over
	for _, p := range []*process{done, running, next} {
		if err := p.Keep(ctx, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Process(ctx, done.Status().ID); err == nil {
		t.Error("the one that has ended was not given up")
	}
	if _, err := done.Log(sandbox.Stdout).ReadAt(make([]byte, 1), 0); !errors.Is(err, os.ErrClosed) {
		t.Errorf("its output is still there: %v", err)
	}
	refused(t, more.Keep(ctx, false), tool.Busy, "process kill")
	other := start(as(ctx, "ben", "s"), t, c, sh("sleep 1000"))
	if err := other.Keep(ctx, false); err != nil {
		t.Errorf("another's count: %v", err)
	}
	if err := running.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if err := more.Keep(ctx, false); err != nil {
		t.Errorf("after one was removed: %v", err)
	}
	all, err := c.Processes(ctx)
	if err != nil || len(all) != 2 || all[0] != sandbox.Process(next) || all[1] != sandbox.Process(more) {
		t.Errorf("there are %v (%v), the oldest first", all, err)
	}
}

// TestCredentialsHaveTheirOwnSandbox checks that a command with credentials has a sandbox of its own, which is
// removed afterwards.
func TestCredentialsHaveTheirOwnSandbox(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	program, err := filepath.EvalSymlinks("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	usual := start(ctx, t, c, sh("sleep 1000"))
	cmd := sandbox.Command{
		Argv: []string{program, "-c",
			`echo "$TOKEN $PAGER"; cat "$KEY"; echo "$KEY"; touch "$HOME/mine"; ls "$HOME"; sleep 1000 & echo end`},
		Env: []string{"PAGER=cat"},
		Private: &sandbox.Private{
			Program: program, Secrets: []string{"TOKEN=s3cret"}, Files: map[string][]byte{"KEY": []byte("k3y\n")},
		},
	}
	p := start(ctx, t, c, cmd)
	finish(ctx, t, p)
	lines := strings.Split(text(t, p.Log(sandbox.Stdout)), "\n")
	if len(lines) != 6 || lines[0] != "s3cret cat" || lines[1] != "k3y" || lines[3] != "mine" || lines[4] != "end" {
		t.Fatalf("it wrote %q, %q", lines, text(t, p.Log(sandbox.Stderr)))
	}
	if p.instance == usual.instance {
		t.Error("it shares the sandbox of others")
	}
	if err := p.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(filepath.Dir(lines[2])); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("its files are still there: %v", err)
	}
	if out, _ := run(ctx, t, c, sh("echo ${TOKEN-none} ${KEY-none}")); out != "none none\n" {
		t.Errorf("another command sees %q", out)
	}
	if len(c.instances) != 1 {
		t.Errorf("there are %d sandboxes", len(c.instances))
	}
	changed := tool.Errorf(tool.Conflict, "the program was changed just now").Try("call it again")
	cmd.Private.Verify = func() error { return changed }
	_, err = c.Start(ctx, cmd)
	refused(t, err, tool.Conflict, "changed just now")
	cmd.Private.Verify = nil
	cmd.Private.Program = "/bin/other"
	if _, err := c.Start(ctx, cmd); err == nil {
		t.Error("another program than the one that was checked was started")
	}
	cmd.Private.Program, cmd.Private.Files = program, map[string][]byte{"../x": nil}
	_, err = c.Start(ctx, cmd)
	refused(t, err, tool.Invalid, "variable")
	cmd.Argv, cmd.Private.Files, cmd.Private.Program = []string{"/no/such"}, nil, "/no/such"
	_, err = c.Start(ctx, cmd)
	refused(t, err, tool.NotFound, "no program")
	for n := range c.snapshot() {
		if n.key.private != 0 {
			<-n.gone
		}
	}
	if entries, err := os.ReadDir(c.spool.dir); err != nil || len(entries) != 1 {
		t.Errorf("the spool holds %v (%v)", entries, err)
	}
}

// snapshot is the sandboxes at this moment.
func (c *Commands) snapshot() map[*instance]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := map[*instance]bool{}
	for n := range c.instances {
		all[n] = true
	}
	return all
}

func TestSites(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	ground, _ := c.o.Directories(ctx)
	tool := filepath.Join(ground.Dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", strings.Join([]string{ground.Dir, ".", "relative", "/no/such", os.Getenv("PATH")}, ":"))
	s, err := c.Site(ctx, "", false)
	if err != nil {
		t.Fatal(err)
	}
	if s.Tier != "host" || s.Isolated || !s.Network || s.Dir != ground.Dir || s.Inode != "1:2" ||
		s.DefaultTimeout != c.o.Limit.Host || s.Note != "" {
		t.Errorf("the site is %+v", s)
	}
	if path, id := s.Find("sh"); !filepath.IsAbs(path) || id == "" {
		t.Errorf("sh is %q %q", path, id)
	}
	for _, name := range []string{"tool", "relative", "", "no-such-program", "/no/such", "./gone", ground.Dir} {
		if path, id := s.Find(name); id != "" {
			t.Errorf("%q is found as %q", name, path)
		}
	}
	if s.File(tool) == "" || s.File(ground.Dir) != "" || s.File("tool") != "" || s.File("/no/such") != "" {
		t.Error("files have no identities, or what is no file has one")
	}
	path, before := s.Find("./tool")
	if path != tool {
		t.Errorf("./tool is %q", path)
	}
	if err := os.WriteFile(tool, []byte("#!/bin/sh\nother\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, after := s.Find("./tool"); after == before {
		t.Error("another file in its place has the same identity")
	}
	if out, _ := run(ctx, t, c, sh("echo $PATH")); strings.Contains(out, ground.Dir) ||
		strings.Contains(out, "relative") {
		t.Errorf("PATH is %q", out)
	}
}

// TestStop checks that a stopping server lets commands finish for a moment, then kills the rest with a reason,
// and returns at once.
func TestStop(t *testing.T) {
	c := newCommands(t)
	c.moment = hang
	ctx := caller(t)
	long := start(ctx, t, c, sh("echo begun; setsid sleep 1000 & wait"))
	if s := long.Wait(ctx, sandbox.WaitCondition{Pattern: "begun"}); s.Matched == "" {
		t.Fatalf("it did not begin: %+v", s)
	}
	c.Stop()
	c.Stop() // a second time does nothing
	short := start(ctx, t, c, sh("echo done"))
	if s := finish(ctx, t, short); s.State != sandbox.Exited || text(t, short.Log(sandbox.Stdout)) != "done\n" {
		t.Errorf("a short command ends as %+v", s)
	}
	c.last.Reset(0) // the moment is over
	s := finish(ctx, t, long)
	if s.State != sandbox.Killed || !strings.Contains(s.Why, "shutting down") || s.Left != 0 ||
		text(t, long.Log(sandbox.Stdout)) != "begun\n" {
		t.Errorf("a long command ends as %+v", s)
	}
	_, err := c.Start(ctx, sh("true"))
	refused(t, err, tool.Unavailable, "shutting down")
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestWaitForAll waits for what a command has left behind.
func TestWaitForAll(t *testing.T) {
	c := newCommands(t)
	ctx := caller(t)
	p := start(ctx, t, c, sh("sleep 1000 > /dev/null 2>&1 &"))
	if s := finish(ctx, t, p); s.Left == 0 {
		t.Fatalf("nothing is left: %+v", s)
	}
	all := make(chan sandbox.Status)
	go func() { all <- p.Wait(ctx, sandbox.WaitCondition{All: true}) }()
	select {
	case s := <-all:
		t.Errorf("it did not wait: %+v", s)
	default:
	}
	if err := p.Kill(ctx); err != nil {
		t.Fatal(err)
	}
	if s := <-all; s.Left != 0 {
		t.Errorf("it waited too short: %+v", s)
	}
}

package docker

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/docker/docker/api/types/container"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

func TestCommandsRun(t *testing.T) {
	p := newPlace(t)
	b := p.open(p.spec())
	for _, c := range []struct {
		line, out string
		code      int
	}{
		{"echo hello; pwd", "hello\n/workspace\n", 0},
		{"exit 7", "", 7},
		{"echo x > made && cat made", "x\n", 0},
		{"cd && pwd && echo y > f && cat f", "/tmp/home\ny\n", 0},
		{"cp /bin/busybox /tmp/echo && /tmp/echo built", "built\n", 0},
	} {
		got := sh(t, b, c.line)
		if got.out != c.out || got.Code != c.code {
			t.Errorf("%s: %q and %d, want %q and %d", c.line, got.out, got.Code, c.out, c.code)
		}
	}
	if n := b.Live(); n != 0 {
		t.Errorf("%d commands are left", n)
	}
	st, err := os.Stat(filepath.Join(p.dir, "made"))
	if err != nil {
		t.Fatal(err)
	}
	if uid, _ := ownerOf(st); uid != os.Geteuid() {
		t.Errorf("what was made belongs to %d, not to %d", uid, os.Geteuid())
	}
}

// TestFullTemp fills what is in memory where there is less of that than files
// may take: killing does not help then, and the agent must not go first.
func TestFullTemp(t *testing.T) {
	p := newPlace(t)
	w := p.spec()
	w.Limits.Temp, w.Limits.FileSize = 512<<20, 0
	b := p.open(w)
	got := sh(t, b,
		"ls -ld $HOME; dd if=/dev/zero of=/tmp/full bs=1M count=200 2>&1; rm -f /tmp/full; dd if=/dev/zero of=$HOME/full bs=1M count=200 2>&1")
	if strings.Count(got.out, "No space left") != 2 || !strings.HasPrefix(got.out, "drwx------") {
		t.Errorf("%d %v: %s", got.Code, got.lost, got.out)
	}
	if got := sh(t, b, "rm $HOME/full && echo more"); got.out != "more\n" {
		t.Errorf("then: %+v", got)
	}
}

// TestOwners runs commands in workspaces of others when the server is root.
func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root has the choice")
	}
	for _, c := range []struct{ owner, inside int }{{0, nobody}, {1234, 1234}} {
		p := newPlace(t)
		for _, name := range []string{"", "old"} {
			at := filepath.Join(p.dir, name)
			if name != "" {
				if err := os.WriteFile(at, []byte("old\n"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Chown(at, c.owner, c.owner); err != nil {
				t.Fatal(err)
			}
		}
		b := p.open(p.spec())
		if b.UID() != c.inside {
			t.Errorf("owner %d: commands are %d", c.owner, b.UID())
		}
		if got := sh(t, b,
			"cat old && echo more >> old && mkdir d && echo new > d/new && chmod 755 d/new"); got.Code != 0 {
			t.Errorf("owner %d: %d %s", c.owner, got.Code, got.out)
		}
		for _, name := range []string{"old", "d", "d/new"} {
			st, err := os.Stat(filepath.Join(p.dir, name))
			if err != nil {
				t.Error(err)
				continue
			}
			if uid, gid := ownerOf(st); uid != c.owner || gid != c.owner {
				t.Errorf("owner %d: %s belongs to %d:%d", c.owner, name, uid, gid)
			}
		}
		p.launcher.Close()
		if left, _ := os.ReadDir(p.launcher.opts.Mounts); len(left) > 0 {
			t.Errorf("owner %d: mounts are left: %v", c.owner, left)
		}
	}
}

// TestHardening looks at the sandbox from within.
func TestHardening(t *testing.T) {
	p := newPlace(t)
	b := p.open(p.spec())
	status := sh(t, b, "cat /proc/self/status").out
	for _, line := range []string{"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
		"CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"} {
		if !strings.Contains(status, line+"\n") {
			t.Errorf("not %q in %s", line, status)
		}
	}
	if strings.Contains(status, "Uid:\t0") {
		t.Error("commands are root")
	}
	for line, want := range map[string]string{
		"ls /sys/class/net": "lo\n",
		"awk '$2==\"/\" {print substr($4,1,3)}' /proc/mounts | tail -1":                                     "ro,\n",
		"awk '$2==\"/tmp\" {print $3, ($4 ~ /nosuid/), ($4 ~ /nodev/), ($4 ~ /size=16384k/)}' /proc/mounts": "tmpfs 1 1 1\n",
		"ulimit -c": "0\n",
		"ls /.mcp":  "agent\n",
		"cat /proc/1/environ 2>/dev/null | wc -c": "0\n",
		"hostname": "sandbox\n",
	} {
		if got := sh(t, b, line); got.out != want {
			t.Errorf("%s: %q, want %q", line, got.out, want)
		}
	}
	for _, line := range []string{"touch /x", "touch /bin/x", "touch /.mcp/agent", "echo x > /.mcp/agent",
		"touch /dev/x", "touch /etc/x",
		"echo 1 > /proc/sys/kernel/printk", "cat /proc/kcore", "dd if=/dev/zero of=/tmp/big bs=1M count=20",
		"dd if=/dev/zero of=/workspace/big bs=1M count=40"} {
		if got := sh(t, b, line); got.Code == 0 {
			t.Errorf("%s: worked: %s", line, got.out)
		}
	}
}

func TestLimits(t *testing.T) {
	p := newPlace(t)
	b := p.open(p.spec())
	bomb := sh(t, b, `f() { f & f & sleep 3; }; f; sleep 1; echo over`)
	if bomb.lost != nil {
		t.Fatalf("the fork bomb took the sandbox with it: %v", bomb.lost)
	}
	if got := sh(t, b, "tail /dev/zero; echo survived"); got.lost != nil || !strings.Contains(got.out, "survived") &&
		got.LimitExceeded == "" && got.Signal == "" {
		t.Errorf("too much memory: %+v", got)
	}
	if got := sh(t, b, "echo still"); got.out != "still\n" {
		t.Errorf("after that: %+v", got)
	}
}

// TestTimeoutTakesTheTree starts what wants to outlive its command.
func TestTimeoutTakesTheTree(t *testing.T) {
	p := newPlace(t)
	b := p.open(p.spec())
	_, s := start(t, b, wire.StartBody{Timeout: 500 * time.Millisecond,
		Argv: []string{"sh", "-c", "(setsid sh -c 'sh -c \"sleep 12345 &\" &' &); sleep 12345"}})
	got := s.wait(t)
	if !got.TimedOut {
		t.Errorf("it was not the time: %+v", got)
	}
	if left := sh(t, b, "ps -o args | grep '[s]leep 12345' | wc -l"); left.out != "0\n" {
		t.Errorf("%s are left", left.out)
	}
}

func TestHiddenAndLocked(t *testing.T) {
	p := newPlace(t)
	for name, text := range map[string]string{".env": "secret", "keys/id": "secret", "deep/er/.env": "secret",
		".git/config":           "config",
		".git/hooks/pre-commit": "hook", "plain": "plain", "deep/plain": "plain"} {
		at := filepath.Join(p.dir, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "note"), []byte("note"), 0o644); err != nil {
		t.Fatal(err)
	}
	w := p.spec()
	w.Binds = p.launcher.Layout(sandbox.Directories{Dir: p.dir,
		Roots: []sandbox.Root{{Name: "docs", Path: root}}}).Binds
	for _, h := range []string{".env", "keys", "deep/er/.env", "absent"} {
		w.Hidden = append(w.Hidden, filepath.Join(p.dir, h))
	}
	w.Locked = []string{filepath.Join(p.dir, ".git/config"), filepath.Join(p.dir, ".git/hooks"),
		filepath.Join(p.dir, "gone")}
	b := p.open(w)
	for _, c := range [][2]string{
		{"cat plain deep/plain /roots/docs/note", "plainplainnote"},
		{"cat .env deep/er/.env; ls -A keys", ""},
		{"cat .git/config .git/hooks/pre-commit", "confighook"},
		{"mv deep/plain deep/p2 && cat deep/p2", "plain"},
		{"echo x > .git/index && cat .git/index", "x\n"},
	} {
		if got := sh(t, b, c[0]); got.out != c[1] {
			t.Errorf("%s: %q, want %q", c[0], got.out, c[1])
		}
	}
	for _, line := range []string{"echo x > .git/config", "rm -f .git/config", "mv .git/config c", "mv .git g",
		"mv plain .git/config",
		"echo x > .git/hooks/new", "mv .git/hooks h", "rm .env", "mv .env e", "mv deep d", "mv deep/er d", "rmdir keys",
		"rm -rf keys",
		"umount .env", "ln .git/config other && echo x > other", "touch /roots/docs/x",
		"mount -o remount,rw .git/config", "echo x > keys/new"} {
		if got := sh(t, b, line); got.Code == 0 {
			t.Errorf("%s: worked: %s", line, got.out)
		}
	}
	b.Close()
	for name, text := range map[string]string{".env": "secret", "keys/id": "secret", "deep/er/.env": "secret",
		".git/config": "config", ".git/hooks/pre-commit": "hook"} {
		if got, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(got) != text {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	p := newPlace(t)
	w := p.spec()
	b := p.open(w)
	_, s := start(t, b, wire.StartBody{Argv: []string{"sh", "-c", "trap '' TERM; while :; do sleep 1; done"}})
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.wait(t); got.lost == nil {
		t.Error("the command does not know that its sandbox is gone")
	}
	goneSoon(t, p.launcher.engines[0], p.launcher.opts.Prefix+w.ID)
}

// TestLoss kills the container behind our back.
func TestLoss(t *testing.T) {
	p := newPlace(t)
	w := p.spec()
	b := p.open(w)
	_, s := start(t, b, wire.StartBody{Argv: []string{"sleep", "1000"}})
	if err := p.launcher.engines[0].api.ContainerKill(context.Background(), p.launcher.opts.Prefix+w.ID,
		"KILL"); err != nil {
		t.Fatal(err)
	}
	if got := s.wait(t); got.lost == nil {
		t.Error("the loss was not noticed")
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// goneSoon waits until a container is not there any more.
func goneSoon(t testing.TB, e *engine, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	ended, failed := e.api.ContainerWait(ctx, name, container.WaitConditionRemoved)
	select {
	case <-ended:
	case err := <-failed:
		if err != nil && !strings.Contains(err.Error(), "o such container") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

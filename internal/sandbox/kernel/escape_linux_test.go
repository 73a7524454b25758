package kernel_test

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const program = "/run/mcp-tools/program"

func needJail(t testing.TB) {
	t.Helper()
	f := launcher().Probe(t.Context())
	if !f.Works || !strings.Contains(f.Text, "kernel: namespaces") {
		needtest.Lacking(t, "userns", "no namespaces here: "+f.Text)
	}
}

// attacker starts the test binary in the sandbox.
func (c cell) attack(args ...string) (int, string) {
	c.t.Helper()
	return c.run(append([]string{program, "attack"}, args...)...)
}

func TestSystemCalls(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		c := open(t, launcher(), openDir(t), nil)
		code, out := c.attack()
		if code != 0 || !strings.Contains(out, "attempts: ") {
			t.Errorf("%d attempts did not fail as they should:\n%s", code, out)
		}
		if runtime.GOARCH == "amd64" {
			needtest.Program(t, "gcc")
			if code, out := c.attack("int80"); code != 0 {
				t.Errorf("a 32-bit call: %s", out)
			}
		}
		if code, out := c.attack("descriptors"); code != 0 {
			t.Error(out)
		}
		if code, out := c.attack("kill"); code != 0 {
			t.Error(out)
		}
		if out := c.must("echo alive"); out != "alive" {
			t.Errorf("after the kills: %s", out)
		}
	})
}

func TestRights(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		c := open(t, launcher(), openDir(t), nil)
		status := c.must("cat /proc/self/status; ulimit -c")
		for _, want := range []string{
			"CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
			"CapBnd:\t0000000000000000", "CapAmb:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2",
			"Groups:\t",
		} {
			if !strings.Contains(status, want) {
				t.Errorf("no %q in\n%s", want, status)
			}
		}
		if !strings.HasSuffix(status, "\n0") {
			t.Error("core files are on")
		}
		if out := c.must("id -u"); out == "0" {
			t.Error("commands run as root")
		}
		devices := c.must("ls /dev")
		if got := strings.Join(strings.Fields(devices),
			" "); got != "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero" {
			t.Errorf("devices: %s", got)
		}
		if out := c.must("ls -A /sys /boot /root /home /run 2>/dev/null; true"); strings.Contains(out, "docker") {
			t.Error(out)
		}
		c.fails("su root -c true </dev/null")
		c.fails("sysctl -w kernel.hostname=x")
		c.fails("echo 1 > /proc/sys/vm/drop_caches")
		c.fails("echo x > /proc/sysrq-trigger")
	})
}

func TestFilesOutside(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		outside, ws, readable := openDir(t), openDir(t), openDir(t)
		write(t, outside+"/canary", "canary")
		write(t, readable+"/text", "readable")
		os.Chmod(outside, 0o777)
		os.Symlink(outside+"/canary", ws+"/link")
		os.Symlink("/", ws+"/rootlink")
		c := open(t, launcher(), ws, func(w *sandbox.Spec) {
			w.Binds = append(w.Binds, sandbox.Bind{Host: readable, Inside: readable})
		})
		for _, path := range []string{
			outside + "/canary", ws + "/link", ws + "/rootlink" + outside + "/canary",
			"/proc/self/root" + outside + "/canary", "/proc/1/root" + outside + "/canary",
			"/proc/self/cwd/../.." + outside + "/canary", ws + "/../" + filepath.Base(outside) + "/canary",
			"/dev/fd/../../.." + outside + "/canary", "/etc/shadow", "/root/.bashrc", "/etc/hostname.real",
			"/proc/kcore", "/proc/keys", "/proc/kallsyms", "/sys/kernel/notes",
		} {
			if code, out := c.attack("read", path); code == 0 {
				t.Errorf("read %s: %s", path, out)
			}
		}
		for _, text := range []string{
			"echo x > " + outside + "/new", "echo x > /usr/x", "echo x > /etc/passwd", "touch /x", "rm -f /bin",
			"mkdir /new", "echo x > " + program, "chmod 777 /usr", "touch /usr/bin/true", "rm /etc/passwd",
			"echo x > " + readable + "/text", "rm -f " + readable + "/text", "touch " + readable + "/new",
			"mv " + readable + " " + ws + "/x", "touch /dev/x", "rm /dev/null", "chmod 600 /dev/null", "touch /run/x",
			"ln " + readable + "/text " + ws + "/hard", "echo x > /proc/1/oom_score_adj",
		} {
			c.fails(text)
		}
		c.must("cat " + readable + "/text")
		if got := read(t, readable+"/text"); got != "readable" {
			t.Errorf("it was changed: %q", got)
		}
		if got, _ := filepath.Glob(outside + "/*"); len(got) != 1 {
			t.Errorf("outside there is %q", got)
		}
	})
}

func TestHiddenAndLocked(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		ws := openDir(t)
		for _, name := range []string{".env", "a/b/secret", "dir/key", ".git/config", ".git/hooks/pre-commit", "real"} {
			write(t, filepath.Join(ws, name), "secret-canary")
		}
		os.Symlink("real", ws+"/hiddenlink")
		os.Symlink(".env", ws+"/alias")
		under := func(names ...string) (all []string) {
			for _, n := range names {
				all = append(all, filepath.Join(ws, n))
			}
			return all
		}
		c := open(t, launcher(), ws, func(w *sandbox.Spec) {
			w.Hidden = under(".env", "a/b/secret", "dir", "hiddenlink", "missing", "missing/too")
			w.Locked = under(".git/config", ".git/hooks", "none")
		})
		for _, text := range []string{
			"cat .env", "cat alias", "cat a/b/secret", "cat dir/key", "cat hiddenlink", "cat real",
			"ln .env x && cat x", "chmod 644 .env", "mv .env x", "rm -f .env", "echo x > .env", "mv dir d",
			"rm -rf dir",
			"touch dir/x", "mv a c", "mv a/b a/c", "rm -rf a", "cat /proc/self/root" + ws + "/.env",
			"echo x > .git/config", "mv .git/config x", "rm -f .git/config", "cp real2 .git/config",
			"echo x > x && mv x .git/config", "ln -f x .git/config", "truncate -s 0 .git/config",
			"touch .git/hooks/x", "rm -f .git/hooks/pre-commit", "mv .git/hooks .git/h", "mv .git g",
			"rm -rf .git", "chmod 600 .git/config", "ln .git/config y && echo x > y",
		} {
			c.fails(text)
		}
		os.Mkdir(ws+"/evil", 0o777)
		for _, args := range [][]string{
			{"exchange", ws + "/evil", ws + "/.git"}, {"exchange", ws + "/evil", ws + "/.git/hooks"},
			{"truncate", ws + "/.git/config"}, {"link", ws + "/.git/config", ws + "/z"},
			{"link", ws + "/.env", ws + "/z"},
			{"exchange", ws + "/evil", ws + "/a"}, {"read", ws + "/.env"},
		} {
			if code, out := c.attack(args...); code == 0 {
				t.Errorf("%v: succeeded %s", args, out)
			}
		}
		for _, name := range []string{".env", "a/b/secret", "dir/key", ".git/config", ".git/hooks/pre-commit", "real"} {
			if got := read(t, filepath.Join(ws, name)); got != "secret-canary" {
				t.Errorf("%s is %q", name, got)
			}
		}
		// Beside them, work goes on.
		c.must("cat .git/config && touch .git/index a/b/new && mv a/b/new a/b/new2 && rm a/b/new2 && touch top")
	})
}

// TestSwapped has the name of a hidden file lead elsewhere.
func TestSwapped(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		ws, outside := openDir(t), openDir(t)
		write(t, ws+"/sub/.env", "x")
		write(t, ws+"/other/.env", "plain")
		os.Rename(ws+"/sub", ws+"/was")
		os.Symlink("other", ws+"/sub")
		c := open(t, launcher(), ws, func(w *sandbox.Spec) { w.Hidden = []string{ws + "/sub/.env"} })
		if out := c.must("cat other/.env"); out != "plain" {
			t.Errorf("another file was hidden: %q", out)
		}
		l := launcher()
		os.Symlink(outside, ws+"/root")
		_, err := l.Launch(t.Context(), sandbox.Spec{Binds: []sandbox.Bind{{Host: ws + "/root", Inside: ws + "/root",
			Write: true}}})
		if err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("a link was let in: %v", err)
		}
	})
}

func TestNetwork(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		ws := openDir(t)
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		name := "@mcp-tools-test-" + filepath.Base(ws)
		abstract, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer abstract.Close()
		c := open(t, launcher(), ws, nil)
		for _, args := range [][]string{{"tcp", tcp.Addr().String()}, {"unix", name}} {
			if code, _ := c.attack("dial", args[0], args[1]); code == 0 {
				t.Errorf("reached %v", args)
			}
		}
		if got := c.must("ls /proc/sys/net/ipv4/conf; cat /proc/net/route | wc -l"); got != "all\ndefault\nlo\n1" {
			t.Errorf("interfaces and routes: %q", got)
		}
		needtest.Program(t, "perl")
		// Its own loopback works.
		c.must(`perl -MIO::Socket::INET -e '$l=IO::Socket::INET->new(Listen=>1,LocalAddr=>"127.0.0.1") or die; ` +
			`IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>$l->sockport) or die'`)
	})
}

// TestNoLinks has somebody put links in the way of a program that may read what
// they lead to.
func TestNoLinks(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		ws, plain := openDir(t), openDir(t)
		for _, dir := range []string{ws, plain} {
			write(t, dir+"/sub/.env", "secret")
			write(t, dir+"/real", "text")
			os.Symlink("/proc/self/environ", dir+"/environ")
			os.Symlink("real", dir+"/alias")
			os.Symlink("sub", dir+"/dir")
		}
		c := open(t, launcher(), ws, func(w *sandbox.Spec) {
			w.Binds[0].NoLinks = true
			w.Binds = append(w.Binds, sandbox.Bind{Host: plain, Inside: plain})
			w.Locked = []string{ws + "/sub/.env"} // a mount of its own
		})
		for _, text := range []string{
			"cat environ", "cat alias", "cat dir/.env", "ln -s /proc/self/environ sub/made && cat sub/made",
			"mkdir new && ln -s /proc/self new/self && cat new/self/environ", "cat " + plain + "/../" +
				filepath.Base(ws) + "/environ",
		} {
			c.fails(text)
		}
		c.must("cat real && readlink environ && cat sub/.env && cat /proc/self/environ > copy")
		// What others than these share with them is not affected.
		c.must("cat " + plain + "/alias " + plain + "/environ " + plain + "/dir/.env")
	})
}

// TestWithinHidden lets something in that lies in what is hidden, as files with
// credentials do when the data of the server is kept in the workspace.
func TestWithinHidden(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		ws := openDir(t)
		write(t, ws+"/data/vault/key", "secret")
		write(t, ws+"/data/run/1/files/KEY", "lent")
		write(t, ws+"/data/run/1/other", "secret")
		c := open(t, launcher(), ws, func(w *sandbox.Spec) {
			w.Binds = append(w.Binds, sandbox.Bind{Host: ws + "/data/run/1/files", Inside: ws + "/data/run/1/files"})
			w.Hidden = []string{ws + "/data"}
		})
		if out := c.must("cat data/run/1/files/KEY; find data -type f"); out != "lentdata/run/1/files/KEY" {
			t.Errorf("there is %q", out)
		}
		for _, text := range []string{
			"cat data/vault/key", "cat data/run/1/other", "touch data/x", "touch data/run/1/x",
			"touch data/run/1/files/x", "mv data d", "rm -rf data",
		} {
			c.fails(text)
		}
		if read(t, ws+"/data/run/1/files/KEY") != "lent" {
			t.Error("it was changed")
		}
	})
}

package kernel_test

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// running counts the processes of this machine with a word in their arguments.
func running(word string) (n int) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		text, _ := os.ReadFile(f)
		if bytes.HasPrefix(text, []byte("sleep\x00")) && bytes.Contains(text, []byte(word)) {
			n++
		}
	}
	return n
}

// until waits for something to become so.
func until(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(hang); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not so in %v: %s", hang, what)
		}
	}
}

func secret() string { return strconv.FormatInt(time.Now().UnixNano()%1e9+1e9, 10) }

func TestServerKilled(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		ws, word := openDir(t), secret()
		cmd := osexec.Command("/proc/self/exe", "server", ws, word)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		line, _ := bufio.NewReader(out).ReadString('\n')
		if line != "ready\n" {
			t.Fatalf("%q", line)
		}
		until(t, "the command runs", func() bool { return running(word) == 3 })
		cmd.Process.Signal(syscall.SIGKILL)
		cmd.Wait()
		until(t, "the command is gone", func() bool { return running(word) == 0 })
		// The next server removes what this one could not.
		launcher().Probe(t.Context())
		left, _ := filepath.Glob("/sys/fs/cgroup/*/mcp-tools-" + strconv.Itoa(cmd.Process.Pid) + "-*")
		more, _ := filepath.Glob("/sys/fs/cgroup/*/*/*/mcp-tools-" + strconv.Itoa(cmd.Process.Pid) + "-*")
		if left = append(left, more...); len(left) > 0 {
			t.Errorf("cgroups are left: %q", left)
		}
	})
}

func TestCloseEndsAll(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		word := secret()
		c := open(t, launcher(), openDir(t), nil)
		c.start("/bin/sh", "-c", "(setsid sh -c 'trap \"\" TERM HUP; sleep "+word+" & sleep "+word+"' &) ; sleep "+word)
		until(t, "the command runs", func() bool { return running(word) == 3 })
		c.Close()
		if n := running(word); n != 0 {
			t.Errorf("%d processes are left", n)
		}
		if got := countFDs(t); got > 64 {
			t.Errorf("%d descriptors are open", got)
		}
	})
}

func countFDs(t testing.TB) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// TestNothingLeaks starts and ends many.
func TestNothingLeaks(t *testing.T) {
	needJail(t)
	l, ws := launcher(), openDir(t)
	open(t, l, ws, nil).Close()
	before := countFDs(t)
	for range 5 {
		open(t, l, ws, func(w *sandbox.Spec) { w.Limits.Memory = 64 << 20 }).Close()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := l.Launch(ctx, sandbox.Spec{}); err == nil {
			t.Error("launched for a call that is over")
		}
		if _, err := l.Launch(t.Context(), sandbox.Spec{Binds: []sandbox.Bind{{Host: "/none",
			Inside: "/none"}}}); err == nil {
			t.Error("launched with what is not there")
		}
	}
	if after := countFDs(t); after > before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
	if left, _ := filepath.Glob("/sys/fs/cgroup/memory*/*/*/mcp-tools-" + strconv.Itoa(os.Getpid()) +
		"-*"); len(left) > 0 {
		t.Errorf("cgroups are left: %q", left)
	}
}

func TestOwners(t *testing.T) {
	if os.Geteuid() != 0 {
		needtest.Lacking(t, "root", "only root can show files as another's")
	}
	needJail(t)
	for _, owner := range []int{0, 1234, 65534} {
		ws := openDir(t)
		write(t, ws+"/old", "old")
		for _, name := range []string{ws, ws + "/old"} {
			if err := os.Chown(name, owner, owner); err != nil {
				t.Fatal(err)
			}
		}
		os.Chmod(ws, 0o700)
		c := open(t, launcher(), ws, nil)
		c.must("echo more >> old && mkdir dir && echo new > dir/new && git init -q repo && test -O old")
		for _, name := range []string{"old", "dir/new", "repo/.git/HEAD"} {
			st, err := os.Stat(filepath.Join(ws, name))
			if err != nil {
				t.Fatal(err)
			}
			if sys := st.Sys().(*syscall.Stat_t); int(sys.Uid) != owner || int(sys.Gid) != owner {
				t.Errorf("%s belongs to %d:%d, and the workspace to %d", name, sys.Uid, sys.Gid, owner)
			}
		}
		if out := c.must("id -u"); out == "0" {
			t.Error("commands run as root")
		}
	}
}

// TestOwnersElsewhere is about a file system that cannot show files as another's.
func TestOwnersElsewhere(t *testing.T) {
	if os.Geteuid() != 0 {
		needtest.Lacking(t, "root", "only root can mount")
	}
	needJail(t)
	ws := openDir(t)
	if err := syscall.Mount("none", ws, "ramfs", 0, "mode=0755"); err != nil {
		needtest.Lacking(t, "mount", err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(ws, syscall.MNT_DETACH) })
	_,
		err := launcher().Launch(t.Context(),
		sandbox.Spec{Binds: launcher().Layout(sandbox.Directories{Dir: ws}).Binds})
	if err == nil || !strings.Contains(err.Error(), "chown") {
		t.Errorf("root's workspace: %v", err)
	}
	if err := os.Chown(ws, 1234, 1234); err != nil {
		t.Fatal(err)
	}
	c := open(t, launcher(), ws, nil)
	if out := c.must("touch x && id -u"); out != "1234" {
		t.Errorf("commands are %s", out)
	}
}

func TestLimits(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		l := launcher()
		c := open(t, l, openDir(t), func(w *sandbox.Spec) {
			w.Limits = sandbox.Limits{Processes: 40, FileSize: 1 << 20, Temp: 8 << 20, Memory: 96 << 20}
		})
		c.fails("head -c 2000000 /dev/zero > big")
		c.fails("for i in 1 2 3 4 5 6 7 8 9 10 11 12; do head -c 1000000 /dev/zero > /tmp/f$i || exit 1; done")
		c.must("rm -f /tmp/f*")
		_, out := c.sh("for i in $(seq 300); do sleep 3 & done 2>&1; kill $(jobs -p); wait")
		if !strings.Contains(strings.ToLower(out), "fork") {
			t.Errorf("300 processes: %.200s", out)
		}
		if slices.Contains(c.link.Guarantees(), sandbox.Memory) {
			c.fails("head -c 300000000 /dev/zero | tail")
		} else if os.Geteuid() == 0 {
			t.Log("memory is not limited here")
		}
		c.must("true")
	})
}

// TestFullTemp fills what is in memory where there is less of that than files
// may take: killing does not help then, and the agent must not go first.
func TestFullTemp(t *testing.T) {
	needJail(t)
	c := open(t, launcher(), openDir(t), func(w *sandbox.Spec) {
		w.Limits = sandbox.Limits{Temp: 512 << 20, Memory: 96 << 20}
	})
	if !slices.Contains(c.link.Guarantees(), sandbox.Memory) {
		needtest.Lacking(t, "cgroups", "memory is not limited here")
	}
	if code, out := c.sh("head -c 200000000 /dev/zero > /tmp/full"); code == 0 ||
		!strings.Contains(out, "No space left") {
		t.Errorf("%d: %s", code, out)
	}
	if _,
		out := c.sh("head -c 200000000 /dev/zero > $HOME/full; head -c 200000000 /dev/zero > /dev/shm/full"); strings.Count(out, "No space left") != 2 {
		t.Error(out)
	}
	c.must("rm /tmp/full $HOME/full /dev/shm/full && echo x > /tmp/x")
}

func TestProxy(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		dir := openDir(t)
		listener, err := net.Listen("unix", dir+"/proxy")
		if err != nil {
			t.Fatal(err)
		}
		defer listener.Close()
		os.Chmod(dir+"/proxy", 0o600)
		os.Chmod(dir, 0o700)
		go func() {
			for {
				conn, err := listener.Accept()
				if err != nil {
					return
				}
				conn.Write([]byte("hello\n"))
				conn.Close()
			}
		}()
		needtest.Program(t, "perl")
		c := open(t, launcher(), openDir(t), func(w *sandbox.Spec) { w.Proxy = dir + "/proxy" })
		got := c.must(`perl -MIO::Socket::INET -e '$s=IO::Socket::INET->new(PeerAddr=>"127.0.0.1",PeerPort=>3128) or die $!; print <$s>'`)
		if got != "hello" {
			t.Errorf("the proxy said %q", got)
		}
		if _, err := launcher().Launch(t.Context(), sandbox.Spec{Open: true}); err == nil {
			t.Error("the network was opened")
		}
	})
}

// TestOrdinaryWork has the programs of developers do their work.
func TestOrdinaryWork(t *testing.T) {
	eachUser(t, func(t *testing.T) {
		needJail(t)
		c := open(t, launcher(), openDir(t), func(w *sandbox.Spec) { w.Limits.Temp = 1 << 30 })
		for program, text := range map[string]string{
			"git":     "git init -q r && cd r && git config user.email a@b && git config user.name n && touch f && git add . && git commit -qm m && git log --oneline && git gc -q && git clone -q . ../r2",
			"gcc":     "echo 'int main(){return 0;}' > a.c && gcc -O1 a.c -o a && ./a",
			"make":    "printf 'all:\\n\\techo made\\n' > Makefile && make",
			"tar":     "mkdir -p d/e && touch d/e/f && tar czf d.tgz d && mkdir x && tar xzf d.tgz -C x && test -f x/d/e/f && cp -a d y && rsync --version >/dev/null; mv y z && rm -rf z",
			"node":    "node -e 'require(\"fs\").writeFileSync(\"n\",\"1\"); require(\"http\").createServer((q,r)=>r.end(\"x\")).listen(0,function(){require(\"http\").get({port:this.address().port},r=>process.exit(0))})'",
			"jq":      "echo '{\"a\":1}' | jq .a",
			"sqlite3": "sqlite3 db 'create table t(a); insert into t values(1); select * from t'",
			"tmux":    "tmux -f /dev/null new-session -d 'sleep 5' && tmux ls && tmux kill-server",
			"perl":    "perl -e 'open F, \">p\"; print F 1; system(\"true\")'",
		} {
			if _, err := osexec.LookPath(program); err != nil {
				t.Logf("%s is not installed", program)
				continue
			}
			c.must(text)
		}
		if _, err := os.Stat("/usr/bin/python3"); err == nil {
			c.must("/usr/bin/python3 -c 'import subprocess,tempfile,multiprocessing as m; tempfile.mkstemp(); m.Lock(); subprocess.run([\"true\"],check=True)'")
		}
		if _, err := os.Stat("/usr/local/go/bin/go"); err == nil && !testing.Short() {
			c.must("mkdir g && cd g && printf 'package main\\nfunc main() {}\\n' > m.go && GOFLAGS=-mod=mod GOTOOLCHAIN=local GOPROXY=off go run m.go")
		}
		c.must("script -qc 'tty' /dev/null; ps aux; df . ; nproc; free; commandIdentity; date; locale; mktemp; echo $$ | xargs; bash -c 'cat <(echo x)'; find / -xdev -name nothing -print 2>/dev/null; true")
	})
}

package kernel_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
)

// lower names what a kernel lacks in this run of the tests.
const lower = "KERNEL_TEST_LOWER"

// onLower runs a test on a kernel that lacks something, as root and as an
// ordinary user.
func onLower(t *testing.T, what string, test func(t *testing.T)) {
	if os.Getenv(lower) == what {
		test(t)
		return
	}
	t.Setenv(lower, what)
	program := testBinary(t)
	argv := []string{program, "without", what, program, "-test.run=^" + t.Name() + "$", "-test.v"}
	t.Run("user", func(t *testing.T) {
		if os.Geteuid() == 0 {
			runAs(t, argv...)
		}
	})
	t.Run("self", func(t *testing.T) {
		if out, err := exec.Command(argv[0], argv[1:]...).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	})
}

// without executes a program on a kernel that seems to lack something: what a
// container does with its filter.
func without(args []string) int {
	deny := func(errno unix.Errno, calls ...uint32) (prog []unix.SockFilter) {
		for _, nr := range calls {
			prog = append(prog,
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: nr, Jf: 1},
				unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
		}
		return prog
	}
	prog := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	if strings.Contains(args[0], "landlock") {
		prog = append(prog, deny(unix.EOPNOTSUPP, unix.SYS_LANDLOCK_CREATE_RULESET)...)
	}
	if strings.Contains(args[0], "namespaces") {
		prog = append(prog, deny(unix.ENOSYS, unix.SYS_CLONE3)...)
		prog = append(prog, deny(unix.EPERM, unix.SYS_UNSHARE, unix.SYS_MOUNT, unix.SYS_OPEN_TREE)...)
		prog = append(prog,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 4},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: 0x7e020000, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS})
	}
	prog = append(prog, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
	fprog := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	runtime.LockOSThread()
	unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if _, _, e := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&fprog))); e != 0 {
		fmt.Println(e)
		return 1
	}
	fmt.Println(unix.Exec(args[1], args[1:], os.Environ()))
	return 1
}

// ownDir is a directory that belongs to whom commands run as.
func ownDir(t testing.TB) string {
	dir := openDir(t)
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 65533, 65533); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWithoutNamespaces(t *testing.T) {
	onLower(t, "namespaces", func(t *testing.T) {
		l := launcher()
		f := l.Probe(t.Context())
		if !f.Works || slices.Contains(f.Guarantees, sandbox.Processes) || f.Advice == "" ||
			!strings.Contains(f.Text, "lacking namespaces") {
			t.Fatalf("%+v", f)
		}
		ws, outside := ownDir(t), openDir(t)
		write(t, outside+"/canary", "canary")
		os.Chmod(outside, 0o777)
		var homeDir string
		c := open(t, l, ws, func(w *sandbox.Spec) {
			homeDir = w.Home
			w.Binds = append(w.Binds, sandbox.Bind{Host: os.Args[0], Inside: os.Args[0]})
			w.Require = []sandbox.Guarantee{sandbox.Files, sandbox.Network, sandbox.Calls}
		})
		c.must("touch new && rm new && touch " + homeDir + "/x && ls /usr && cat /etc/passwd && id -u")
		if out := c.must("id -u"); out == "0" {
			t.Error("commands run as root")
		}
		for _, text := range []string{
			"cat " + outside + "/canary", "echo x > " + outside + "/new", "ls " + outside, "touch /tmp/x-" +
				filepath.Base(ws),
			"cat /etc/shadow", "cat /proc/$PPID/environ", "ls /home", "ls /sys", "cat /root/.bashrc", "touch " +
				os.Args[0],
		} {
			c.fails(text)
		}
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer tcp.Close()
		path := ws + "/socket"
		local, err := net.Listen("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer local.Close()
		os.Chmod(path, 0o777)
		for _, args := range [][]string{
			{"tcp", tcp.Addr().String()}, {"unix", path}, {"unixgram", path}, {"udp", "127.0.0.1:1"},
			{"unix", "/run/docker.sock"},
		} {
			if code, _ := c.run(os.Args[0], "attack", "dial", args[0], args[1]); code == 0 {
				t.Errorf("reached %v", args)
			}
		}
		c.Close()
		if _, err := os.Stat(homeDir); err == nil {
			t.Errorf("%s is left", homeDir)
		}
		refusesPromises(t, l, ws)
	})
}

func refusesPromises(t *testing.T, l sandbox.Launcher, ws string) {
	t.Helper()
	binds := l.Layout(sandbox.Directories{Dir: ws}).Binds
	for name, w := range map[string]sandbox.Spec{
		"processes": {Binds: binds, Require: []sandbox.Guarantee{sandbox.Processes}},
		"files":     {Binds: binds, Hidden: []string{ws + "/x"}, Require: []sandbox.Guarantee{sandbox.Files}},
		"proxy":     {Binds: binds, Proxy: ws + "/socket"},
	} {
		if _, err := l.Launch(t.Context(), w); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	_, err := l.Launch(t.Context(), sandbox.Spec{Binds: l.Layout(sandbox.Directories{Dir: openDir(t)}).Binds})
	if err == nil || !strings.Contains(err.Error(), "chown") {
		t.Errorf("root's workspace: %v", err)
	}
}

func TestWithoutLandlock(t *testing.T) {
	onLower(t, "landlock", func(t *testing.T) {
		needJail(t)
		if f := launcher().Probe(t.Context()); !strings.Contains(f.Text, "lacking Landlock") {
			t.Errorf("%+v", f)
		}
		ws, outside := openDir(t), openDir(t)
		write(t, outside+"/canary", "canary")
		write(t, ws+"/.env", "secret")
		c := open(t, launcher(), ws, func(w *sandbox.Spec) { w.Hidden = []string{ws + "/.env"} })
		c.fails("cat " + outside + "/canary")
		c.fails("cat .env")
		c.fails("echo x > /proc/1/root" + outside + "/x")
		c.must("touch x && rm x")
		if code, out := c.attack(); code != 0 {
			t.Errorf("%s", out)
		}
	})
}

func TestWithoutAnything(t *testing.T) {
	onLower(t, "landlock,namespaces", func(t *testing.T) {
		f := launcher().Probe(t.Context())
		if f.Works || f.Advice == "" {
			t.Errorf("%+v", f)
		}
		if _, err := launcher().Launch(t.Context(), sandbox.Spec{}); err == nil {
			t.Error("it was launched")
		}
	})
}

// server is a server that is killed: it starts a command that goes on, and says
// so.
func server(args []string) int {
	ctx := context.Background()
	l := launcher()
	link, err := l.Launch(ctx, sandbox.Spec{ID: "dying", Binds: l.Layout(sandbox.Directories{Dir: args[0]}).Binds,
		Limits: sandbox.Limits{Memory: 256 << 20}})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	b, err := box.Open(ctx, link)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	c := cell{Box: b, t: panicker{}, ws: args[0]}
	c.start("/bin/sh", "-c", "(setsid sh -c 'sleep "+args[1]+" & sleep "+args[1]+"' &) ; sleep "+args[1])
	fmt.Println("ready")
	select {}
}

// A panicker stands for a test where there is none: it ends the process.
type panicker struct{ testing.TB }

func (panicker) Helper()                  {}
func (panicker) Context() context.Context { return context.Background() }
func (panicker) Fatalf(f string, a ...any) {
	fmt.Printf(f, a...)
	os.Exit(1)
}

//go:build linux

package browser

import (
	"fmt"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	// selfExe is the test binary.
	selfExe = "/proc/self/exe"
	// limitNamespacesArg makes the test binary execute another program with few user namespaces.
	limitNamespacesArg = "few"
	// namespacesEnv is the variable with how many user namespaces it may create.
	namespacesEnv = "BROWSER_TEST_NAMESPACES"
)

// eachUser runs a test as the current user and, if that is root, as an ordinary user.
func eachUser(t *testing.T, test func(t *testing.T)) {
	t.Run("self", test)
	if os.Geteuid() != 0 {
		return
	}
	t.Run("user", func(t *testing.T) {
		again(t, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobodyUser, Gid: nobodyUser}},
			[]string{"TMPDIR=/tmp"})
	})
}

// again runs the calling test in another process, as another user.
func again(t *testing.T, attr *syscall.SysProcAttr, env []string, before ...string) {
	t.Helper()
	top, _, _ := strings.Cut(t.Name(), "/")
	program := readable(t)
	argv := append(append([]string{program}, before...), "-test.run=^"+top+"$", "-test.v")
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.SysProcAttr, cmd.Env = attr, append(os.Environ(), env...)
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: "+top) {
		t.Errorf("%v:\n%s", err, out)
	}
}

// readable returns a copy of the test binary that all users can execute.
func readable(t testing.TB) string {
	t.Helper()
	from, err := os.Open(selfExe)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	path := filepath.Join(openDir(t), "browser.test")
	// A process that is started at this moment would inherit the file, open for writing,
	// and a file that is open for writing cannot be executed.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	to, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(to, from)
	}
	if err != nil || to.Close() != nil {
		t.Fatal(err)
	}
	return path
}

// limitNamespaces enters a user namespace in which only so many others may be created, and executes
// the rest of its arguments.
func limitNamespaces(args []string) int {
	if err := os.WriteFile("/proc/sys/user/max_user_namespaces", []byte(args[0]), 0); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(unix.Exec(selfExe, append([]string{selfExe}, args[1:]...), os.Environ()))
	return 1
}

// TestIsolation checks that a browser sees no files of this machine and runs in a network namespace with nothing but its
// proxy, and that its pages run in the sandbox of Chromium.
func TestIsolation(t *testing.T) {
	t.Parallel()
	if err := CheckIsolation(t.Context(), testTiers); err != nil {
		needtest.Lacking(t, "namespaces", err.Error())
	}
	eachUser(t, func(t *testing.T) {
		if err := CheckIsolation(t.Context(), testTiers); err != nil {
			t.Fatal(err)
		}
		b := atShop(t, func(o *Options) { o.Insecure = true }) // which is of no account where it need not be
		b.do(Request{Action: Open, URL: shop + "/things.html"})
		kinds := []string{"net", "user", "ipc", "pid", "mnt"}
		first := "" // the first process of the browser
		for _, pid := range processesWith(t, b.home) {
			if name := fmt.Sprint(pid); !strings.Contains(read(t, "/proc/"+name+"/cmdline"), "--type=") {
				first = name
			}
		}
		sealed := 0
		for _, pid := range processesWith(t, b.home) {
			name := fmt.Sprint(pid)
			for _, kind := range kinds {
				if namespace(t, name, kind) == namespace(t, "self", kind) {
					t.Errorf("process %d shares our %s", pid, kind)
				}
			}
			status := read(t, "/proc/"+name+"/status")
			if user := field(status, "Uid"); os.Geteuid() == 0 && strings.HasPrefix(user, "0\t") {
				t.Errorf("process %d is root: %s", pid, user)
			}
			if got := field(status, "NoNewPrivs"); got != "1" {
				t.Errorf("process %d may gain rights: %q", pid, got)
			}
			command := read(t, "/proc/"+name+"/cmdline")
			switch {
			case strings.Contains(command, noSandbox):
				t.Errorf("process %d has no sandbox: %q", pid, command)
			case strings.Contains(command, "--type=renderer"):
				sealed++
				if field(status, "Seccomp") != "2" || !strings.HasPrefix(field(status, "CapEff"), "0000000000000000") {
					t.Errorf("a renderer is not sealed:\n%s", status)
				}
				for _, kind := range []string{"net", "user", "pid"} {
					if own := namespace(t, name, kind); own != "" && own == namespace(t, first, kind) {
						t.Errorf("a renderer shares the %s namespace of its browser", kind)
					}
				}
			case !strings.Contains(command, "--type="):
				theirs(t, name, status)
			}
		}
		if sealed == 0 {
			t.Error("there is no renderer")
		}
	})
}

// theirs checks the first process of a browser: what it inherited, and that the only
// listener in its network is that of the proxy.
func theirs(t *testing.T, pid, status string) {
	t.Helper()
	if field(status, "CapEff") != "0000000000000000" || field(status, "CapAmb") != "0000000000000000" {
		t.Errorf("the browser has rights:\n%s", status)
	}
	var listening []string
	for line := range strings.Lines(read(t, "/proc/"+pid+"/net/tcp")) {
		if words := strings.Fields(line); len(words) > 3 && words[3] == "0A" {
			listening = append(listening, words[1])
		}
	}
	if want := "0100007F:0C38"; !slices.Equal(listening, []string{want}) {
		t.Errorf("in its network listen %q, want %s", listening, want)
	}
	if files, err := os.ReadDir("/proc/" + pid + "/root/root"); err == nil {
		t.Errorf("it sees the files of root: %v", files)
	}
	if devices := read(t, "/proc/"+pid+"/net/dev"); strings.Count(devices, ":") != 1 ||
		!strings.Contains(devices, "lo:") {
		t.Errorf("its network has:\n%s", devices)
	}
}

func namespace(t *testing.T, pid, kind string) string {
	name, err := os.Readlink("/proc/" + pid + "/ns/" + kind)
	if err != nil {
		return "" // it has ended, or belongs to another user
	}
	return name
}

func read(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// field returns a line of /proc/PID/status.
func field(status, name string) string {
	_, rest, _ := strings.Cut(status, "\n"+name+":\t")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// TestFewNamespaces checks that no browser is started if user namespaces or nested ones are
// missing, unless Insecure is set.
func TestFewNamespaces(t *testing.T) {
	t.Parallel()
	if os.Getenv(namespacesEnv) != "" {
		withFew(t)
		return
	}
	needtest.Program(t, "chromium", "google-chrome", "chromium-browser")
	for _, count := range []string{"0", "1"} {
		t.Run(count, func(t *testing.T) {
			if os.Geteuid() != 0 {
				needtest.Lacking(t, "root", "users cannot be mapped")
			}
			all := []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: nobodyUser + 1}}
			attr := &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER, UidMappings: all, GidMappings: all,
				GidMappingsEnableSetgroups: true}
			again(t, attr, []string{namespacesEnv + "=" + count}, limitNamespacesArg, count)
		})
	}
}

func withFew(t *testing.T) {
	if err := CheckIsolation(t.Context(), testTiers); tool.AsError(err).Kind != tool.Unavailable ||
		!strings.Contains(err.Error(), "namespaces") {
		t.Errorf("it can be kept apart: %v", err)
	}
	b := atShop(t)
	if _, err := b.try(Request{Action: Open, URL: shop + "/frame.html"}); tool.AsError(err).Kind != tool.Unavailable ||
		!strings.Contains(err.Error(), "operator") {
		t.Errorf("a browser that is not kept apart: %v", err)
	}
	weak := atShop(t, func(o *Options) { o.Insecure = true })
	wantContains(t, weak.do(Request{Action: Open, URL: shop + "/frame.html"}), `button "Inner"`)
	weak.do(Request{Action: Close})
}

// TestMemoryLimit checks that a browser that uses too much memory still works.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	b := atShop(t, func(o *Options) { o.Memory = 600 << 20 })
	b.do(Request{Action: Open, URL: shop + "/frame.html"})
	_, err := b.try(Request{Action: Evaluate,
		Text: "const all = []; for (;;) all.push(new Uint8Array(1 << 24).fill(1))"})
	if kind := tool.AsError(err).Kind; kind != tool.Unavailable && kind != tool.Invalid { // it crashes, or an exception
		t.Errorf("a page without end: %v", err)
	}
	wantContains(t, b.do(Request{Action: Open, URL: shop + "/frame.html"}), `button "Inner"`)
}

// TestCertificates checks that a page with an untrusted certificate is not shown and that the
// error contains the cause.
func TestCertificates(t *testing.T) {
	t.Parallel()
	const secure = "https://shop.example/frame.html"
	b := atShop(t)
	if _, err := b.try(Request{Action: Open, URL: secure}); tool.AsError(err).Kind != tool.Unavailable ||
		!strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nobodyUser knows: %v", err)
	}
	b.do(Request{Action: Close})
	s := newSite(t)
	known := newFixture(t, map[string]*httptest.Server{"shop.example": s.Server})
	known.browsers.o.Path = chromiumWith(t, "--ignore-certificate-errors-spki-list="+known.net.KeyPin())
	page := known.do(Request{Action: Open, URL: secure})
	wantContains(t, page, `button "Inner"`)
	wantContains(t, known.do(Request{Action: Evaluate, Text: "isSecureContext + ' ' + location.protocol"}),
		"true https:")
	known.do(Request{Action: Close}) // the proxy reports connections when they end
	if asked := known.record.all(); !slices.Contains(asked, net.JoinHostPort("shop.example", "443")) {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

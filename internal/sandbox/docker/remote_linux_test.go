package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// A remote is an engine that is reached over mutual TLS, with containers of its own.
type remote struct {
	address string
	cmd     *exec.Cmd
}

// remotes starts engines, with the image of the tests, and returns the directory of the certificates.
func remotes(t *testing.T, n int) (all []*remote, certs string) {
	t.Helper()
	dockerd := needtest.Program(t, "dockerd")
	if os.Geteuid() != 0 {
		needtest.Lacking(t, "docker", "only root starts engines")
	}
	testEngine(t)
	certs = t.TempDir()
	authority(t, certs)
	var starting sync.WaitGroup
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		r := &remote{address: "tcp://" + l.Addr().String()}
		l.Close()
		dir, err := os.MkdirTemp("/tmp", "engine") // names of sockets are short
		if err != nil {
			t.Fatal(err)
		}
		r.cmd = exec.Command(dockerd, "--host", r.address, "--tlsverify", "--tlscacert", certs+"/ca.pem", "--tlscert", certs+"/cert.pem",
			"--tlskey", certs+"/key.pem", "--data-root", dir+"/data", "--exec-root", dir+"/exec", "--pidfile", dir+"/pid",
			"--bridge", "none", "--iptables=false", "--ip6tables=false", "--storage-driver", "vfs")
		var words bytes.Buffer
		r.cmd.Stdout, r.cmd.Stderr = &words, &words
		r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := r.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			r.signal(syscall.SIGKILL)
			_ = r.cmd.Wait()
			killUnder(dir)
			unmountUnder(dir)
			if err := os.RemoveAll(dir); err != nil {
				t.Log(err)
			}
			if t.Failed() {
				t.Logf("%s: %s", r.address, words.Bytes()[max(0, words.Len()-2000):])
			}
		})
		all = append(all, r)
		starting.Go(func() {
			e, err := newEngine(r.address, certs)
			if err != nil {
				t.Error(err)
				return
			}
			defer e.close()
			ctx, cancel := context.WithTimeout(context.Background(), long)
			defer cancel()
			for {
				if _, err := e.api.Ping(ctx); err == nil {
					break
				}
				select {
				case <-ctx.Done():
					t.Errorf("%s does not start", r.address)
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
			importImage(t, e)
		})
	}
	starting.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return all, certs
}

// signal sends a signal to the engine, its containerd, and the processes that watch its containers.
func (r *remote) signal(s syscall.Signal) { _ = syscall.Kill(-r.cmd.Process.Pid, s) }

// killUnder kills the processes that were started for an engine: those that name its directory.
func killUnder(dir string) {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range lines {
		text, _ := os.ReadFile(at)
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(at))); err == nil && bytes.Contains(text, []byte(dir+"/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// unmountUnder unmounts what an engine has left in its directory.
func unmountUnder(dir string) {
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], dir+"/") {
			_ = syscall.Unmount(f[1], syscall.MNT_DETACH)
		}
	}
}

// TestRemoteHosts runs sandboxes on two engines without the files of this machine, of which one is frozen and one killed.
func TestRemoteHosts(t *testing.T) {
	t.Parallel()
	hosts, certs := remotes(t, 2)
	drained := map[string]bool{}
	p := newPlace(t, func(o *Options) {
		o.Hosts, o.Certs, o.Copy = []string{hosts[0].address, hosts[1].address}, certs, true
		o.Drained = func(_ context.Context, host string) bool { return drained[host] }
	})
	secret := filepath.Join(p.dir, "secret")
	for name, text := range map[string]string{"in.txt": "from here\n", "secret": "K"} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	spec := func() sandbox.Spec {
		w := p.spec()
		w.Hidden = []string{secret}
		return w
	}
	run := func(b *box.Box, line string) outcome {
		t.Helper()
		_, s := start(t, b, wire.StartBody{Dir: "/files/workspace", Argv: []string{"sh", "-c", line}, Merge: true, Timeout: long})
		return s.wait(t)
	}

	// Files go there and come back.
	first := p.open(spec())
	got := run(first, "cat in.txt; ls; echo changed >> in.txt; mkdir out; echo made > out/file; ip addr | grep -c inet; id -u")
	if want := "from here\nin.txt\n1\n" + fmt.Sprint(nobody) + "\n"; got.out != want || got.lost != nil {
		t.Errorf("%q, %v", got.out, got.lost)
	}
	if text, err := os.ReadFile(filepath.Join(p.dir, "in.txt")); string(text) != "from here\nchanged\n" {
		t.Errorf("%q, %v", text, err)
	}
	st, err := os.Stat(filepath.Join(p.dir, "out/file"))
	if err != nil {
		t.Fatal(err)
	}
	if uid, _ := ownerOf(st); uid != os.Geteuid() {
		t.Errorf("what was made belongs to %d", uid)
	}

	// What a command that goes on has changed comes back too.
	_, goesOn := start(t, first, wire.StartBody{Dir: "/files/workspace", Argv: []string{"sh", "-c", "echo served > log; until [ -e stop ]; do sleep 0.1; done"}, Timeout: long})
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if text, _ := os.ReadFile(filepath.Join(p.dir, "log")); string(text) == "served\n" {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what a running command has written never came back")
		}
	}
	run(first, "rm in.txt; touch stop; mkfifo in.txt")
	if got := goesOn.wait(t); got.lost != nil {
		t.Errorf("%+v", got)
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "in.txt")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that a command has replaced by a pipe is here: %v", err)
	}
	run(first, "rm in.txt; printf 'from here\\nchanged\\n' > in.txt")

	// The other host has more free memory now.
	second := p.open(spec())
	if first.Host() == second.Host() {
		t.Errorf("both are on %s", first.Host())
	}
	states := p.launcher.Hosts(t.Context())
	for _, s := range states {
		if s.Sandboxes != 1 || s.Problem != "" || s.Free <= 0 {
			t.Errorf("%+v", s)
		}
	}

	// A drained host gets no more; its sandboxes go on.
	drained[first.Host()] = true
	third := p.open(spec())
	if third.Host() != second.Host() {
		t.Errorf("a sandbox was started on the drained host")
	}
	if got := run(first, "cat in.txt"); got.out != "from here\nchanged\n" {
		t.Errorf("%+v", got)
	}
	drained[second.Host()] = true
	if _, err := p.try(spec()); err == nil || !strings.Contains(err.Error(), "all docker hosts of the sandboxes are drained") {
		t.Errorf("%v", err)
	}
	clear(drained)

	// A host that freezes is lost with its sandboxes, and the other one is used.
	frozen, alive := hosts[0], hosts[1]
	if second.Host() == frozen.address {
		first, second = second, first
	}
	_, s := start(t, first, wire.StartBody{Dir: "/files/workspace", Argv: []string{"sleep", "4242"}, Timeout: long})
	frozen.signal(syscall.SIGSTOP)
	began := time.Now()
	if got := s.wait(t); !errors.Is(got.lost, box.ErrLost) || !strings.Contains(got.lost.Error(), frozen.address) {
		t.Errorf("%+v", got)
	}
	t.Logf("a frozen host was lost after %s", time.Since(began))
	began = time.Now()
	if b := p.open(spec()); b.Host() != alive.address {
		t.Errorf("a sandbox was started on %s", b.Host())
	}
	t.Logf("a sandbox on the other host after %s", time.Since(began))

	// A host that is killed is lost at once.
	_, s = start(t, second, wire.StartBody{Dir: "/files/workspace", Argv: []string{"sleep", "4242"}, Timeout: long})
	began = time.Now()
	alive.signal(syscall.SIGKILL)
	if got := s.wait(t); !errors.Is(got.lost, box.ErrLost) || !strings.Contains(got.lost.Error(), alive.address) {
		t.Errorf("%+v", got)
	}
	t.Logf("a killed host was lost after %s", time.Since(began))
}

// TestRemoteProxy reaches a proxy of this machine from a container on another one.
func TestRemoteProxy(t *testing.T) {
	t.Parallel()
	hosts, certs := remotes(t, 1)
	p := newPlace(t, func(o *Options) { o.Hosts, o.Certs, o.Copy = []string{hosts[0].address}, certs, true })
	sock := filepath.Join(t.TempDir(), "proxy")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	large := strings.Repeat("0123456789abcdef", 1<<17) // 2 MiB, more than a window
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				line := make([]byte, 5)
				if _, err := io.ReadFull(c, line); err == nil && string(line) == "count" {
					n, _ := io.Copy(io.Discard, c) // to its end
					fmt.Fprintf(c, "%d\n", n)
					return
				}
				_, _ = io.WriteString(c, large)
			}()
		}
	}()
	w := p.spec()
	w.Proxy = sock
	b := p.open(w)
	for line, want := range map[string]string{
		"echo please | nc 127.0.0.1 3128 | wc -c":                                             "2097152\n",
		"(printf count; dd if=/dev/zero bs=1M count=3 2>/dev/null) | nc 127.0.0.1 3128":       "3145728\n",
		"for i in 1 2 3 4; do echo please | nc 127.0.0.1 3128 | wc -c & done; wait; echo end": strings.Repeat("2097152\n", 4) + "end\n",
	} {
		_, s := start(t, b, wire.StartBody{Dir: "/files/workspace", Argv: []string{"sh", "-c", line}, Merge: true, Timeout: time.Minute})
		if got := s.wait(t); got.out != want {
			t.Errorf("%s: %q %+v", line, got.out, got.ExitBody)
		}
	}
}

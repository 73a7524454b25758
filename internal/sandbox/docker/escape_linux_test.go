package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/box"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// attack runs one of the attacks of testdata/agent.
func (p *place) attack(t *testing.T, b *box.Box, args ...string) {
	t.Helper()
	_, s := start(t, b, wire.StartBody{Argv: append([]string{"/.mcp/agent", "attack"}, args...), Merge: true,
		Timeout: long})
	if got := s.wait(t); !strings.HasPrefix(got.out, "held") {
		t.Errorf("%v: %q, code %d, %v", args, got.out, got.Code, got.lost)
	}
}

func TestEscapes(t *testing.T) {
	p := newPlace(t)
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	canary := filepath.Join(outside, "canary")
	mine := filepath.Join(p.dir, "mine")
	for _, f := range []string{canary, mine} {
		if err := os.WriteFile(f, []byte("canary"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(canary, filepath.Join(p.dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.dir, "links")); err != nil {
		t.Fatal(err)
	}
	host, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close()
	abstract, err := net.Listen("unix", "@mcp-tools-test-"+p.spec().ID)
	if err != nil {
		t.Fatal(err)
	}
	defer abstract.Close()

	other := newPlace(t)
	if err := os.WriteFile(filepath.Join(other.dir, "theirs"), []byte("canary"), 0o666); err != nil {
		t.Fatal(err)
	}
	other.open(other.spec())

	b := p.open(p.spec())
	pid := fmt.Sprint(os.Getpid())
	for _, a := range [][]string{
		{"read", canary}, {"read", "/workspace/link"}, {"read", "/workspace/links/canary"}, {"list", outside},
		{"list", "/workspace/links"},
		{"read", "/proc/1/root" + canary}, {"read", "/workspace/../" + canary}, {"read", "/proc/" + pid + "/environ"},
		{"read", "/etc/shadow"}, {"read", "/proc/kcore"}, {"read", "/proc/1/environ"}, {"list", "/proc/1/fd"},
		{"list", "/proc/1/root"},
		{"read", filepath.Join(other.dir, "theirs")}, {"list", other.dir}, {"list", "/var/lib/docker"},
		{"list", "/run/mcp-tools"},
		{"write", canary}, {"write", "/workspace/link"}, {"write", "/workspace/links/new"}, {"write", "/bin/sh"},
		{"write", agentPath},
		{"remove", agentPath}, {"rename", "/bin/sh"}, {"write", "/proc/sys/kernel/core_pattern"},
		{"write", "/proc/sysrq-trigger"},
		{"write", "/sys/kernel/uevent_helper"}, {"write", "/sys/fs/cgroup/memory/memory.limit_in_bytes"},
		{"write", "/dev/mem"}, {"write", "/dev/sda"},
		{"unix", "/var/run/docker.sock"}, {"unix", "/run/docker.sock"}, {"unix", "/run/containerd/containerd.sock"},
		{"unix", abstract.Addr().String()},
		{"tcp", host.Addr().String()}, {"tcp", "172.17.0.1:22"}, {"udp", "172.17.0.1:53"}, {"tcp", "[::1]:22"},
		{"mount"}, {"umount", "/proc/kcore"}, {"umount", "/tmp"}, {"remount", "/"}, {"remount", "/.mcp/agent"},
		{"chroot"}, {"setuid"},
		{"mknod", "/workspace"}, {"mknod", "/tmp"}, {"unshare"}, {"unshare-mnt"}, {"setns"}, {"keyctl"}, {"ptrace"},
		{"vm-read"}, {"bpf"},
		{"io_uring"}, {"perf"}, {"userfault"}, {"by-handle"}, {"vsock"}, {"alg"}, {"packet"},
		{"suid", "/workspace/mine"}, {"suid-f", "/workspace/mine"}, {"suid-open", "/workspace/mine"},
		{"suid-mknod", "/workspace/mine"},
		{"suid-at2", "/workspace/mine"}, {"suid-32", "/workspace/mine"}, {"kill-agent"},
	} {
		p.attack(t, b, a...)
	}
	if got := sh(t, b, "/bin/busybox-suid id -u"); strings.TrimSpace(got.out) == "0" {
		t.Error("a set-user-ID program gains root")
	}
	if got := sh(t, b,
		"echo alive; ps | grep -c '[t]est-server'; ls /workspace"); got.out != "alive\n0\nlink\nlinks\nmine\n" {
		t.Errorf("after the attacks: %q", got.out)
	}
	if text, err := os.ReadFile(canary); err != nil || string(text) != "canary" {
		t.Errorf("the canary: %q %v", text, err)
	}
	if st, err := os.Stat(mine); err != nil || st.Mode()&(os.ModeSetuid|os.ModeSetgid) != 0 {
		t.Errorf("the file in the workspace: %v %v", st.Mode(), err)
	}
}

// TestRefusedBinds asks for what would give the machine away.
func TestRefusedBinds(t *testing.T) {
	p := newPlace(t)
	dir := p.dir
	if err := os.Symlink("/etc", filepath.Join(dir, "etc")); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(dir, "a.sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []sandbox.Bind{
		{Host: "/", Inside: "/workspace"}, {Host: "/etc", Inside: "/workspace"},
		{Host: "/etc/ssl", Inside: "/workspace"}, {Host: "/proc", Inside: "/workspace"},
		{Host: "/sys", Inside: "/workspace"}, {Host: "/dev", Inside: "/workspace"},
		{Host: "/run", Inside: "/workspace"}, {Host: "/root", Inside: "/workspace"},
		{Host: "/boot", Inside: "/workspace"}, {Host: "/var/run", Inside: "/workspace"},
		{Host: "/var", Inside: "/workspace"}, {Host: "/var/lib", Inside: "/workspace"},
		{Host: "/var/run/docker.sock", Inside: "/workspace/s"}, {Host: sock, Inside: "/workspace"},
		{Host: filepath.Join(dir, "etc"), Inside: "/workspace"},
		{Host: dir + "/../..", Inside: "/workspace"}, {Host: "relative", Inside: "/workspace"},
		{Host: "", Inside: "/workspace"},
		{Host: dir, Inside: "/.mcp"}, {Host: dir, Inside: "/.mcp/agent"}, {Host: dir, Inside: "/"},
		{Host: dir, Inside: "/etc"}, {Host: dir, Inside: "/roots/../etc"},
		{Host: dir, Inside: "/roots"}, {Host: dir, Inside: "/proc"}, {Host: dir, Inside: "/workspace:ro"},
		{Host: dir + "/gone", Inside: "/workspace"},
	} {
		w := p.spec()
		w.Binds = []sandbox.Bind{c}
		if b, err := p.try(w); err == nil {
			t.Errorf("%v was let in", c)
			b.Close()
		}
	}
}

// TestAsOrdinaryUser runs the tests of the isolation again, as a user who may only
// use the engine.
func TestAsOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("this user is ordinary")
	}
	newPlace(t)
	st, err := os.Stat("/var/run/docker.sock")
	if err != nil {
		t.Fatal(err)
	}
	_, group := ownerOf(st)
	if group == 0 {
		needtest.Lacking(t, "docker", "only root may use this engine")
	}
	const uid = 54321
	tmp, err := os.MkdirTemp("/var/tmp", "mcp-tools-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(tmp)
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile(agentProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tests": program, "agent": agent} {
		if err := os.WriteFile(filepath.Join(tmp, name), data, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(tmp, uid, uid); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*long)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(tmp, "tests"), "-test.v", "-test.run",
		"^(TestCommandsRun|TestHardening|TestEscapes|TestHiddenAndLocked|TestKilledServer|TestProxy)$")
	cmd.Dir = tmp
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + tmp, "TMPDIR=" + tmp, "MCP_TOOLS_TEST_AGENT=" +
		filepath.Join(tmp, "agent"),
		"MCP_TOOLS_REQUIRE=all"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid,
		Groups: []uint32{uint32(group)}}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestNoLinks has somebody put links in the way of a program that may read what
// they lead to. Only a server that may mount can do something about it.
func TestNoLinks(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may mount")
	}
	for _, owner := range []int{0, 1234} {
		p := newPlace(t)
		w := p.spec()
		link, plain := filepath.Join(p.dir, "link"), filepath.Join(p.dir, "plain")
		if err := errors.Join(os.Symlink("/proc/self/environ", link), os.WriteFile(plain, []byte("text"), 0o644),
			os.Chown(p.dir, owner, owner)); err != nil {
			t.Fatal(err)
		}
		for _, noLinks := range []bool{false, true} {
			w.ID = strings.ToLower(rand.Text())
			w.Binds[0].NoLinks = noLinks
			b := p.open(w)
			if got := sh(t, b, "cat link >/dev/null"); (got.Code == 0) == noLinks {
				t.Errorf("owner %d, without links %t: %d %s", owner, noLinks, got.Code, got.out)
			}
			if got := sh(t, b, "cat plain && echo x > new && rm new && readlink link >/dev/null"); got.Code != 0 {
				t.Errorf("owner %d, without links %t: %d %s", owner, noLinks, got.Code, got.out)
			}
		}
	}
}

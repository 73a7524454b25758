package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// selfExe is this program, even when another file has taken its name.
const selfExe = "/proc/self/exe"

// ownNamespaces is what a browser has of its own: users, a network in which nothing but
// its proxy is, and processes, of which it is the first, with which all end.
const ownNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// run starts it. Who started a process is a thread, whose end is that of the
// browser: there is one for each, which starts it, waits for it, and ends.
func (p *program) run(s startOptions) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd, err := p.startProcess(s)
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // it is killed: its code says nothing
		killGroup(cmd)
		close(p.done)
	}()
	return <-started
}

// startProcess starts it in namespaces of its own. Where they are not to be had it is
// not started, unless it may be weak.
func (p *program) startProcess(s startOptions) (*exec.Cmd, error) {
	who, err := s.dirs.assignUser()
	if err != nil {
		return nil, err
	}
	var stage []string
	if s.insecure {
		stage = []string{insecureArg}
	}
	cmd, err := p.startIsolated(s, who, ownNamespaces, append(stage, s.path))
	if err == nil {
		return cmd, nil
	}
	if !s.insecure {
		return nil, notIsolated(err)
	}
	if who.switched { // root needs no users of its own for a network
		if cmd, err := p.startIsolated(s, who, ownNamespaces&^unix.CLONE_NEWUSER,
			[]string{s.path, noSandbox}); err == nil {
			return cmd, nil
		}
	}
	return p.startShared(s, who)
}

func notIsolated(err error) error {
	return tool.Errorf(tool.Unavailable,
		"the system does not let a browser be kept apart, and otherwise none is started").
		Try("use web_fetch; mcp-tools doctor tells the operator what to allow").Because(err)
}

// startIsolated starts a stage, which makes the way to the proxy and becomes the
// browser that args begin with.
func (p *program) startIsolated(s startOptions, who identity, flags uintptr, args []string) (*exec.Cmd, error) {
	cmd := s.command(selfExe, slices.Concat([]string{LauncherArg}, args, s.args(innerAddress())))
	cmd.SysProcAttr = who.attributes(flags)
	l, err := handshake(cmd, func() { p.cgroup.add(cmd.Process.Pid) })
	if err != nil {
		return nil, errors.Join(err, errors.New(p.output.String()))
	}
	p.listen, p.kill = l, func() { killGroup(cmd) }
	return cmd, nil
}

// handshake starts a stage and takes what it offers. It returns when the stage has
// become what it was to become.
func handshake(cmd *exec.Cmd, begun func()) (_ net.Listener, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "stage"), os.NewFile(uintptr(fds[1]), "server")
	defer ours.Close()
	cmd.Stdin = theirs
	err = cmd.Start()
	if err = errors.Join(err, theirs.Close()); err != nil {
		return nil, fmt.Errorf("namespaces: %w", err)
	}
	defer func() {
		if err != nil {
			killGroup(cmd)
			_ = cmd.Wait() // it was killed
		}
	}()
	begun()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(startTimeout)); err != nil {
		return nil, err
	}
	return receiveListener(conn.(*net.UnixConn))
}

// receiveListener takes a listener, lets the stage go on, and hears it out.
func receiveListener(conn *net.UnixConn) (_ net.Listener, err error) {
	said, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := conn.ReadMsgUnix(said, rights)
	if err != nil || size == 0 {
		more, _ := io.ReadAll(io.LimitReader(conn, maxTail)) // what there is of it
		return nil, errors.Join(fmt.Errorf("the stage offers nothing: %s", append(said[:n], more...)), err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("the stage offers something else"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, errors.Join(errors.New("the stage offers something else"), err)
	}
	file := os.NewFile(uintptr(fds[0]), "proxy")
	l, err := net.FileListener(file)
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if _, err = conn.Write([]byte{0}); err == nil {
		var more []byte
		if more, err = io.ReadAll(io.LimitReader(conn, maxTail)); err == nil && len(more) > 0 {
			err = errors.New(string(more))
		}
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// startShared starts it where everybody is, with its proxy where every process of
// this machine finds it, and without a sandbox.
func (p *program) startShared(s startOptions, who identity) (*exec.Cmd, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the way to the proxy: %w", err)
	}
	cmd := s.command(s.path, append([]string{noSandbox}, s.args(l.Addr().String())...))
	cmd.SysProcAttr = who.attributes(0)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", filepath.Base(s.path), err), l.Close())
	}
	p.cgroup.add(cmd.Process.Pid)
	p.listen, p.kill = l, func() { killGroup(cmd) }
	return cmd, nil
}

// killGroup kills the browser and whatever of it is not in namespaces that end
// with it.
func killGroup(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

// CheckIsolation tries whether this system lets a browser be kept apart from its network,
// and Chromium have its own sandbox there. Its error says what an operator can do.
func CheckIsolation(ctx context.Context) error {
	who := currentUser()
	if os.Geteuid() == 0 {
		user, err := unusedUser()
		if err != nil {
			return err
		}
		who = identity{user, user, true}
	}
	words := &tailBuffer{}
	cmd := exec.CommandContext(ctx, selfExe, LauncherArg)
	cmd.Env, cmd.Stderr, cmd.SysProcAttr = []string{}, words, who.attributes(ownNamespaces)
	ended := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		l, err := handshake(cmd, func() {})
		if err == nil {
			err = errors.Join(l.Close(), cmd.Wait())
		}
		ended <- err
	}()
	if err := <-ended; err != nil {
		err = errors.Join(err, errors.New(words.String()))
		return tool.Errorf(tool.Unavailable, "no browser can be kept apart here: %s", short(err.Error(), 200)).Try("%s",
			advice()).Because(err)
	}
	return nil
}

// advice says what keeps this program from namespaces.
func advice() string {
	is := func(name, value string) bool {
		text, err := os.ReadFile(filepath.Join("/proc/sys", name))
		return err == nil && strings.TrimSpace(string(text)) == value
	}
	switch {
	case is("kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "allow user namespaces to this program in a profile of AppArmor, or set kernel.apparmor_restrict_unprivileged_userns=0"
	case is("user/max_user_namespaces", "0"):
		return "set user.max_user_namespaces to more than 0"
	case is("kernel/unprivileged_userns_clone", "0"):
		return "set kernel.unprivileged_userns_clone=1"
	}
	return "let this program have user namespaces: in a container, allow clone and unshare with them; as root, let others execute its file"
}

// attributes are those of a browser's first process.
func (who identity) attributes(flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Cloneflags: flags}
	if flags&unix.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(who.uid), HostID: int(who.uid), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(who.gid), HostID: int(who.gid), Size: 1}}
		attr.GidMappingsEnableSetgroups = who.switched
	}
	if flags != 0 {
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // waitUntil the network is up
	}
	if who.switched {
		attr.Credential = &syscall.Credential{Uid: who.uid, Gid: who.gid}
	}
	return attr
}

package browser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
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

// selfExe is the executable of this process, even if its file was replaced.
const selfExe = "/proc/self/exe"

// ownNamespaces are the namespaces of an isolated browser: users, network, IPC and
// processes. The browser is process 1, so that all its processes end with it.
const ownNamespaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNET | unix.CLONE_NEWPID | unix.CLONE_NEWIPC

// run starts the browser. The kernel kills the browser when the thread that started it
// ends, so a goroutine locked to a thread starts it and waits for it.
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
		_ = cmd.Wait() // the browser is killed, so the exit code has no meaning
		killGroup(cmd)
		close(p.done)
	}()
	return <-started
}

// startProcess starts the browser in new namespaces, or in those of this process if the
// system permits no isolation and s.insecure is set.
func (p *program) startProcess(s startOptions) (*exec.Cmd, error) {
	who, err := s.dirs.assignUser()
	if err != nil {
		return nil, err
	}
	if s.insecure && CheckIsolation(context.Background()) != nil {
		return p.startShared(s, who)
	}
	cmd := s.command(selfExe, slices.Concat([]string{LauncherArg, s.path}, s.args(innerAddress())))
	cmd.SysProcAttr = who.attributes(ownNamespaces)
	l, err := handshake(cmd, func() { limitMemory(cmd.Process.Pid, s.memory) })
	if err != nil {
		return nil, tool.Errorf(tool.Unavailable, "no browser is started: the system does not permit its isolation").
			Try("use web_fetch; mcp-tools doctor shows the operator what to allow").
			Because(errors.Join(err, errors.New(p.output.String())))
	}
	p.listen, p.kill = l, func() { killGroup(cmd) }
	return cmd, nil
}

// limitMemory limits the memory of each process of a browser. A page with more crashes.
// If the machine has too little, the kernel kills a browser first.
func limitMemory(pid int, bytes int64) {
	limit := unix.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	_ = unix.Prlimit(pid, unix.RLIMIT_DATA, &limit, nil) // without a limit it works, too
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("500"), 0)
}

// handshake starts a launcher and receives its listener. It returns after the launcher
// has executed the browser.
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

// receiveListener receives a listener, sends the reply, and reads error messages until
// the launcher closes its socket.
func receiveListener(conn *net.UnixConn) (_ net.Listener, err error) {
	message, rights := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, size, _, _, err := conn.ReadMsgUnix(message, rights)
	if err != nil || size == 0 {
		more, _ := io.ReadAll(io.LimitReader(conn, maxTail)) // an incomplete message is better than none
		return nil, errors.Join(fmt.Errorf("the launcher sent no listener: %s", append(message[:n], more...)), err)
	}
	messages, err := unix.ParseSocketControlMessage(rights[:size])
	if err != nil {
		return nil, err
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return nil, err
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

// startShared starts the browser in the network of this machine, without a sandbox. All
// local processes can connect to its proxy.
func (p *program) startShared(s startOptions, who identity) (*exec.Cmd, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the proxy: %w", err)
	}
	cmd := s.command(s.path, append([]string{noSandbox}, s.args(l.Addr().String())...))
	cmd.SysProcAttr = who.attributes(0)
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", filepath.Base(s.path), err), l.Close())
	}
	limitMemory(cmd.Process.Pid, s.memory)
	p.listen, p.kill = l, func() { killGroup(cmd) }
	return cmd, nil
}

// killGroup kills the process group of a browser.
func killGroup(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

// CheckIsolation returns an error if this system does not permit an isolated browser with
// the sandbox of Chromium. The error contains advice for the operator.
func CheckIsolation(ctx context.Context) error {
	who := currentUser()
	if os.Geteuid() == 0 {
		who = identity{nobodyUser, nobodyUser, true}
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
		return tool.Errorf(tool.Unavailable, "a browser cannot be isolated on this system: %s",
			short(err.Error(), 200)).Try("%s",
			advice()).Because(err)
	}
	return nil
}

// advice returns what the operator has to change to permit namespaces.
func advice() string {
	is := func(name, value string) bool {
		text, err := os.ReadFile(filepath.Join("/proc/sys", name))
		return err == nil && strings.TrimSpace(string(text)) == value
	}
	switch {
	case is("kernel/apparmor_restrict_unprivileged_userns", "1"):
		return "allow user namespaces for this program in an AppArmor profile, or set " +
			"kernel.apparmor_restrict_unprivileged_userns=0"
	case is("user/max_user_namespaces", "0"):
		return "set user.max_user_namespaces to more than 0"
	case is("kernel/unprivileged_userns_clone", "0"):
		return "set kernel.unprivileged_userns_clone=1"
	}
	return "permit user namespaces: in a container, allow clone and unshare with namespace flags; " +
		"as root, let other users execute this program's file"
}

// If the server runs as root, each browser runs as a user of its own. No distribution
// assigns such high numbers.
const (
	firstUser  = 1 << 30
	users      = 1 << 28
	nobodyUser = 65534
)

// An identity is the user that a browser runs as.
type identity struct {
	uid, gid uint32
	switched bool // not the user of this process
}

func currentUser() identity { return identity{uint32(os.Geteuid()), uint32(os.Getegid()), false} }

// assignUser returns the user for a browser and makes it the owner of its home. In a
// container without such high user IDs it is the user nobody (65534).
func (p *directories) assignUser() (identity, error) {
	if os.Geteuid() != 0 {
		return currentUser(), nil
	}
	user := firstUser + rand.IntN(users)
	if os.Chown(p.home, user, user) != nil {
		user = nobodyUser
	}
	return identity{uint32(user), uint32(user), true},
		filepath.WalkDir(p.home, func(path string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(path, user, user))
		})
}

// attributes returns the attributes of the first process of a browser.
func (who identity) attributes(flags uintptr) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true, Cloneflags: flags}
	if flags&unix.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: int(who.uid), HostID: int(who.uid), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: int(who.gid), HostID: int(who.gid), Size: 1}}
		attr.GidMappingsEnableSetgroups = who.switched
	}
	if flags != 0 {
		attr.AmbientCaps = []uintptr{unix.CAP_NET_ADMIN} // needed to enable the loopback interface
	}
	if who.switched {
		attr.Credential = &syscall.Credential{Uid: who.uid, Gid: who.gid}
	}
	return attr
}

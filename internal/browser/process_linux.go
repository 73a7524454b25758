package browser

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/tools"
)

// Users that belong to nobody by the convention of most distributions: each
// browser of a server that is root runs as one of them.
const (
	firstUser = 60578
	users     = 606
	nobody    = 65534
)

// run starts it. As root it gets a user of its own, a network in which nothing
// but its proxy is, and is the first of its processes, with which all others
// end. Another user has to be in a user namespace for the last one, and cannot
// have the network.
//
// Networks and rights belong to a thread, and who started a process is a thread,
// too: its end is that of the browser. So there is one thread for each browser,
// which starts it, waits for it, and ends.
func (p *program) run(s start) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlock: nothing else should run in its network
		cmd, err := p.begin(s)
		started <- err
		if err != nil {
			return
		}
		_ = cmd.Wait() // it is killed: its code says nothing
		endGroup(cmd)
		close(p.done)
	}()
	return <-started
}

// begin starts it on a thread that is its own.
func (p *program) begin(s start) (*exec.Cmd, error) {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if os.Geteuid() == 0 {
		user, err := s.place.give()
		if err != nil {
			return nil, err
		}
		attr.Credential = &syscall.Credential{Uid: user, Gid: user}
		if unix.Unshare(unix.CLONE_NEWNET) == nil {
			attr.Cloneflags = unix.CLONE_NEWPID | unix.CLONE_NEWIPC
			if err := errors.Join(raiseLoopback(), unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)); err != nil {
				return nil, err
			}
		}
	} else {
		attr.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the way to the proxy: %w", err)
	}
	cmd := s.command(l.Addr().String())
	cmd.SysProcAttr = attr
	err = cmd.Start()
	if err != nil && attr.Credential == nil { // no namespaces for ordinary users here
		cmd = s.command(l.Addr().String())
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", filepath.Base(s.path), err), l.Close())
	}
	p.listen, p.end = l, func() { endGroup(cmd) }
	return cmd, nil
}

// endGroup kills the browser and whatever of it is not in namespaces that end
// with it.
func endGroup(cmd *exec.Cmd) { _ = unix.Kill(-cmd.Process.Pid, unix.SIGKILL) }

// raiseLoopback makes 127.0.0.1 work in the network of this thread.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	request, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, request)
}

// give makes a place that of a user nobody else is.
func (p *place) give() (user uint32, err error) {
	if err := reachable(p.outer); err != nil {
		return 0, err
	}
	if user, err = freeUser(); err != nil {
		return 0, err
	}
	return user, filepath.WalkDir(p.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(user), int(user))
	})
}

// reachable is an error where another user cannot get to a directory.
func reachable(dir string) error {
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return err
		}
		if info.Mode()&0o001 == 0 {
			return fmt.Errorf("the browser, which does not run as root, cannot get into %s; choose another directory", at)
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// freeUser returns one as whom no process runs.
func freeUser() (uint32, error) {
	taken, err := usersAtWork()
	if err != nil {
		return 0, err
	}
	from := rand.IntN(users)
	for i := range users {
		user := uint32(firstUser + (from+i)%users)
		if !taken[user] && mapped(user) {
			return user, nil
		}
	}
	if mapped(nobody) {
		return nobody, nil
	}
	return 0, tools.Errorf(tools.Unavailable, "the server is root, and has no other user to run a browser as").
		Try("use web_fetch; the operator can run the server as another user")
}

// usersAtWork are those as whom processes run.
func usersAtWork() (map[uint32]bool, error) {
	all, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	taken := make(map[uint32]bool)
	for _, entry := range all {
		if _, err := strconv.Atoi(entry.Name()); err != nil {
			continue
		}
		var stat unix.Stat_t
		if unix.Stat("/proc/"+entry.Name(), &stat) == nil {
			taken[stat.Uid] = true
		}
	}
	return taken, nil
}

// mapped reports whether there is a user in the namespace of this process.
func mapped(user uint32) bool {
	f, err := os.Open("/proc/self/uid_map")
	if err != nil {
		return false
	}
	defer f.Close()
	for {
		var inside, outside, count uint64
		if _, err := fmt.Fscan(f, &inside, &outside, &count); err != nil {
			return false
		}
		if uint64(user) >= inside && uint64(user) < inside+count {
			return true
		}
	}
}

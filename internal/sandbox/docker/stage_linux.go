package docker

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stage runs as the first process of a container: it installs a seccomp filter and
// executes the agent. Without it a command could set the set-user-ID bit of its
// files, which the engine permits. In a workspace these files belong to the user of
// the server, so another user of the machine who runs them would get that user's rights.
func Stage(args []string) int {
	runtime.LockOSThread() // the filter applies to this thread, which executes the agent
	if err := os.Mkdir(home, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, "the sandbox cannot make a home for commands:", err)
		return 1
	}
	if err := forbid(); err != nil {
		fmt.Fprintln(os.Stderr, "the sandbox cannot forbid system calls:", err)
		return 1
	}
	argv := append([]string{"mcp-tools", "sandbox-agent"}, args...)
	fmt.Fprintln(os.Stderr, "the sandbox cannot start the agent:", syscall.Exec("/proc/self/exe", argv, os.Environ()))
	return 1
}

func forbid() error {
	program, err := filter()
	if err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// A modeCall is a system call that sets the mode of a file.
type modeCall struct {
	number uint32
	mode   int // index of the argument with the mode
	flags  int // index of the argument that enables the mode; -1: always
}

const (
	setID    = unix.S_ISUID | unix.S_ISGID
	creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	refuse   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	missing  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter returns the seccomp program.
func filter() ([]unix.SockFilter, error) {
	arch, calls := modeCalls()
	if arch == 0 {
		return nil, fmt.Errorf("there is no filter for %s", runtime.GOARCH)
	}
	const offNumber, offArch, offArgs = 0, 4, 16
	load := func(off uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: off}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, K: k, Jt: yes, Jf: no}
	}
	ret := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	p := []unix.SockFilter{
		// other architectures number their calls differently
		load(offArch), jump(unix.BPF_JEQ, arch, 1, 0), ret(refuse),
		load(offNumber), jump(unix.BPF_JGE, 1<<30, 0, 1), ret(missing), // as does x32
	}
	// A filter cannot read the modes in the arguments of these calls.
	for _, n := range []uint32{unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
		unix.SYS_IO_URING_REGISTER} {
		p = append(p, jump(unix.BPF_JEQ, n, 0, 1), ret(missing))
	}
	// The container has no network, so sockets of these families are harmless.
	// Other families, such as vsock, may reach outside.
	p = append(p, jump(unix.BPF_JEQ, unix.SYS_SOCKET, 0, 6), load(offArgs),
		jump(unix.BPF_JEQ, unix.AF_UNIX, 4, 0), jump(unix.BPF_JEQ, unix.AF_INET, 3, 0),
		jump(unix.BPF_JEQ, unix.AF_INET6, 2, 0),
		jump(unix.BPF_JEQ, unix.AF_NETLINK, 1, 0), ret(refuse))
	p = append(p, load(offNumber))
	for _, c := range calls {
		var body []unix.SockFilter
		if c.flags >= 0 {
			body = append(body, load(offArgs+8*uint32(c.flags)), jump(unix.BPF_JSET, creating, 1, 0),
				ret(unix.SECCOMP_RET_ALLOW))
		}
		body = append(body, load(offArgs+8*uint32(c.mode)), jump(unix.BPF_JSET, setID, 0, 1), ret(refuse),
			ret(unix.SECCOMP_RET_ALLOW))
		p = append(p, jump(unix.BPF_JEQ, c.number, 0, uint8(len(body))))
		p = append(p, body...)
	}
	return append(p, ret(unix.SECCOMP_RET_ALLOW)), nil
}

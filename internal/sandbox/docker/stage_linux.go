package docker

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Stage is what the first process of a container does: it forbids what engines
// allow and becomes the agent. The worst that engines allow is that a command gives its
// files the set-user-ID bit. In a workspace those files belong, on the machine,
// to the user of the server, so that whoever ran them there would be that user.
func Stage(args []string) int {
	runtime.LockOSThread() // the thread that is filtered is the one that goes on
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

// A modeCall is a system call that gives a file a mode.
type modeCall struct {
	number uint32
	mode   int // the argument that holds it
	flags  int // the argument that says whether it does; -1: it always does
}

const (
	setID    = unix.S_ISUID | unix.S_ISGID
	creating = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
	refuse   = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	missing  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// filter is the program that the kernel runs before each system call.
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
		load(offArch), jump(unix.BPF_JEQ, arch, 1, 0), ret(refuse), // other numbers mean other calls
		load(offNumber), jump(unix.BPF_JGE, 1<<30, 0, 1), ret(missing), // as do those of x32
	}
	// These hide modes where a filter cannot look.
	for _, n := range []uint32{unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER,
		unix.SYS_IO_URING_REGISTER} {
		p = append(p, jump(unix.BPF_JEQ, n, 0, 1), ret(missing))
	}
	// Sockets of these kinds are in the network that the container has not got,
	// or inside it. Others, such as those to a hypervisor, may lead out.
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

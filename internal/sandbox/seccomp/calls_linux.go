//go:build amd64 || arm64

package seccomp

import (
	"slices"

	"golang.org/x/sys/unix"
)

// setID are the mode bits that make a program run as its owner. The owner of a file
// that a command creates may be a user outside the sandbox.
const setID = unix.S_ISUID | unix.S_ISGID

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Supported reports whether there are rules for this processor.
const Supported = true

// ownSandbox are the namespaces that a program with a sandbox of its own creates.
const ownSandbox = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// Install refuses calls for the calling thread and the programs it executes, in a sandbox that
// only the kernel isolates. cut is for commands without a network namespace that must not reach
// the network. nested permits the calls of a program with a sandbox of its own: ownSandbox, and
// a change to a root directory without files.
func Install(cut, nested bool) error {
	rules := setIDs()
	if nested {
		rules = append(rules,
			rule{unix.SYS_CLONE, []test{anyOf(0, namespaces&^ownSandbox)}, unix.EPERM},
			rule{unix.SYS_CLONE, nil, 0},
			rule{unix.SYS_UNSHARE, []test{anyOf(0, (namespaces|unix.CLONE_NEWTIME)&^ownSandbox)}, unix.EPERM},
			rule{unix.SYS_UNSHARE, nil, 0},
			rule{unix.SYS_CHROOT, nil, 0},
		)
	}
	rules = append(rules,
		rule{unix.SYS_CLONE, []test{anyOf(0, namespaces)}, unix.EPERM},
		rule{unix.SYS_CLONE3, nil, unix.ENOSYS},
		rule{unix.SYS_IOCTL, []test{equals(1, unix.TIOCSTI)}, unix.EPERM},
		rule{unix.SYS_IOCTL, []test{equals(1, unix.TIOCLINUX)}, unix.EPERM},
		rule{unix.SYS_IOCTL, []test{equals(1, unix.TIOCSETD)}, unix.EPERM},
	)
	rules = append(rules, sockets(cut)...)
	for _, p := range plainPersonalities {
		rules = append(rules, rule{unix.SYS_PERSONALITY, []test{equals(0, p)}, 0})
	}
	for _, call := range slices.Concat(never[:], oldCalls()) {
		rules = append(rules, rule{call: call, errno: unix.EPERM})
	}
	return install(rules)
}

// InstallInContainer refuses dangerous calls that the filter of a container engine allows.
func InstallInContainer() error {
	rules := append(setIDs(), sockets(false)...)
	for _, call := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER} {
		rules = append(rules, rule{call: call, errno: unix.ENOSYS})
	}
	return install(rules)
}

// setIDs returns rules about modes with setID. A filter cannot read arguments behind a
// pointer: with ENOSYS programs use the older calls instead.
func setIDs() []rule {
	return append(oldSetIDs(),
		rule{unix.SYS_OPENAT, []test{anyOf(2, unix.O_CREAT|tmpfile), anyOf(3, setID)}, unix.EPERM},
		rule{unix.SYS_OPENAT2, nil, unix.ENOSYS},
		rule{unix.SYS_FCHMOD, []test{anyOf(1, setID)}, unix.EPERM},
		rule{unix.SYS_FCHMODAT, []test{anyOf(2, setID)}, unix.EPERM},
		rule{sysFchmodat2, []test{anyOf(2, setID)}, unix.EPERM},
		rule{unix.SYS_MKNODAT, []test{anyOf(2, setID)}, unix.EPERM},
	)
}

// tmpfile is O_TMPFILE without O_DIRECTORY: other opens use that flag too.
const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

const sysFchmodat2 = 452

// plainPersonalities are Linux and 32-bit Linux, both with and without the old uname,
// and the value that only queries.
var plainPersonalities = [...]uint32{0, 8, 0x20000, 0x20008, 0xffffffff}

// sockets returns the rules for sockets. It permits local sockets, internet sockets and
// netlink route sockets. With cut it permits no network, and no sockets with a path
// either, since a process outside the sandbox may listen on them.
func sockets(cut bool) []rule {
	if !cut {
		return []rule{
			{unix.SYS_SOCKET, []test{equals(0, unix.AF_UNIX)}, 0},
			{unix.SYS_SOCKET, []test{equals(0, unix.AF_INET)}, 0},
			{unix.SYS_SOCKET, []test{equals(0, unix.AF_INET6)}, 0},
			{unix.SYS_SOCKET, []test{equals(0, unix.AF_NETLINK), equals(2, unix.NETLINK_ROUTE)}, 0},
			{unix.SYS_SOCKET, nil, unix.EPERM},
		}
	}
	const typeMask = 0xf // the other bits are flags
	return []rule{
		{unix.SYS_SOCKET, []test{equals(0, unix.AF_UNIX), masked(1, typeMask, unix.SOCK_STREAM)}, 0},
		{unix.SYS_SOCKET, nil, unix.EPERM},
		{unix.SYS_SOCKETPAIR, []test{equals(0, unix.AF_UNIX), masked(1, typeMask, unix.SOCK_STREAM)}, 0},
		{unix.SYS_SOCKETPAIR, nil, unix.EPERM},
		{unix.SYS_CONNECT, nil, unix.EPERM},
		{unix.SYS_SENDTO, []test{anyOf(4, ^uint32(0))}, unix.EPERM},
		{unix.SYS_SENDTO, []test{{arg: 4, high: true, mask: ^uint32(0)}}, unix.EPERM},
	}
}

// never lists the system calls that are refused with any arguments.
var never = [...]uint32{
	// Other namespaces and other roots.
	unix.SYS_UNSHARE, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2,
	unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_MOVE_MOUNT, unix.SYS_OPEN_TREE,
	sysOpenTreeAttr, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
	unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
	unix.SYS_FANOTIFY_INIT, unix.SYS_FANOTIFY_MARK,
	// Other processes.
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
	unix.SYS_KCMP, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE,
	// Parts of the kernel that ordinary programs do not need and that are often
	// attacked.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF,
	unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_IO_URING_SETUP,
	unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_PERSONALITY,
	unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	// The machine itself.
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE,
	unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
	unix.SYS_REBOOT, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_CLOCK_ADJTIME,
	unix.SYS_ADJTIMEX, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_ACCT,
	unix.SYS_SYSLOG, unix.SYS_VHANGUP,
}

const sysOpenTreeAttr = 467

//go:build amd64 || arm64

package kernel

import "golang.org/x/sys/unix"

// setID are the mode bits that make a program run as its owner. A file that a
// command makes may belong to somebody outside, who must not lend his name.
const setID = unix.S_ISUID | unix.S_ISGID

const namespaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS |
	unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET

// refusals are the system calls that commands do not get. cut is for commands
// that have the network of this machine before them and must not reach it.
func refusals(cut bool) []rule {
	rules := []rule{
		{unix.SYS_OPENAT, []test{anyOf(2, unix.O_CREAT|tmpfile), anyOf(3, setID)}, unix.EPERM},
		{unix.SYS_CLONE, []test{anyOf(0, namespaces)}, unix.EPERM},
		// What these two want is behind a pointer, where a filter cannot look:
		// programs that hear that they do not exist use the older ones.
		{unix.SYS_CLONE3, nil, unix.ENOSYS},
		{unix.SYS_OPENAT2, nil, unix.ENOSYS},
		{unix.SYS_FCHMOD, []test{anyOf(1, setID)}, unix.EPERM},
		{unix.SYS_FCHMODAT, []test{anyOf(2, setID)}, unix.EPERM},
		{sysFchmodat2, []test{anyOf(2, setID)}, unix.EPERM},
		{unix.SYS_MKNODAT, []test{anyOf(2, setID)}, unix.EPERM},
		{unix.SYS_IOCTL, []test{equals(1, unix.TIOCSTI)}, unix.EPERM},
		{unix.SYS_IOCTL, []test{equals(1, unix.TIOCLINUX)}, unix.EPERM},
		{unix.SYS_IOCTL, []test{equals(1, unix.TIOCSETD)}, unix.EPERM},
	}
	rules = append(rules, sockets(cut)...)
	for _, p := range plainPersonalities {
		rules = append(rules, rule{unix.SYS_PERSONALITY, []test{equals(0, p)}, 0})
	}
	rules = append(rules, oldCalls()...)
	for _, call := range never {
		rules = append(rules, rule{call: call, errno: unix.EPERM})
	}
	return rules
}

// tmpfile is O_TMPFILE without O_DIRECTORY, which others use too.
const tmpfile = unix.O_TMPFILE &^ unix.O_DIRECTORY

const sysFchmodat2 = 452

// plainPersonalities are Linux, 32-bit Linux, both with the old uname, and the
// question which one it is.
var plainPersonalities = [...]uint32{0, 8, 0x20000, 0x20008, 0xffffffff}

// sockets lets through those to oneself, to the network, and the kernel's list
// of interfaces. With cut there is no network, and nobody is to be found by a
// path either: who listens there is outside.
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
	const typeMask = 0xf // the rest are flags
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

// never are refused whatever their arguments are.
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
	// Parts of the kernel that ordinary programs do without, and that attacks
	// begin with.
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

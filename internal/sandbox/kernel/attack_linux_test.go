package kernel_test

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// call makes a system call and returns what the kernel said.
func call(nr uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, e := unix.Syscall6(nr, a[0], a[1], a[2], a[3], a[4], a[5]); e != 0 {
		return e
	}
	return nil
}

func str(s string) uintptr {
	p, _ := unix.BytePtrFromString(s)
	return uintptr(unsafe.Pointer(p))
}

// An attempt is an attack that succeeds when do returns nil. Where want is not
// zero it has to fail with this error and no other, which tells the wall that
// is meant from another in front of it.
type attempt struct {
	name string
	want syscall.Errno
	do   func() error
}

func attempts() []attempt {
	all := kernelAttempts()
	all = append(all, processAttempts()...)
	return append(all, networkAttempts()...)
}

func kernelAttempts() []attempt {
	dir, _ := os.MkdirTemp("", "attack")
	return []attempt{
		{"mount", unix.EPERM, func() error { return unix.Mount("none", dir, "tmpfs", 0, "") }},
		{"bind", unix.EPERM, func() error { return unix.Mount("/", dir, "", unix.MS_BIND, "") }},
		{"remount", unix.EPERM, func() error { return unix.Mount("", "/usr", "", unix.MS_REMOUNT|unix.MS_BIND, "") }},
		{"umount", unix.EPERM, func() error { return unix.Unmount("/proc", unix.MNT_DETACH) }},
		{"pivot_root", unix.EPERM, func() error { return unix.PivotRoot(dir, dir) }},
		{"chroot", unix.EPERM, func() error { return unix.Chroot(dir) }},
		{"fsopen", unix.EPERM, func() error { _, err := unix.Fsopen("tmpfs", 0); return err }},
		{"open_tree", unix.EPERM, func() error {
			_,
				err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE)
			return err
		}},
		{"mount_setattr", unix.EPERM, func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/usr", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}},
		{"mknod", 0, func() error {
			return unix.Mknod(filepath.Join(dir, "d"), unix.S_IFBLK|0o666,
				int(unix.Mkdev(8, 0)))
		}},
		{"mknod null", 0, func() error {
			return unix.Mknod(filepath.Join(dir, "n"), unix.S_IFCHR|0o666,
				int(unix.Mkdev(1, 3)))
		}},
		{"unshare user", unix.EPERM, func() error { return unix.Unshare(unix.CLONE_NEWUSER) }},
		{"unshare mount", unix.EPERM, func() error { return unix.Unshare(unix.CLONE_NEWNS) }},
		{"clone user", unix.EPERM, func() error {
			return call(unix.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(unix.SIGCHLD), 0, 0, 0, 0)
		}},
		{"clone3", unix.ENOSYS, func() error { return call(unix.SYS_CLONE3, 0, 0) }},
		{"keyctl", unix.EPERM, func() error {
			_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_USER_KEYRING,
				true)
			return err
		}},
		{"add_key", unix.EPERM, func() error {
			_, err := unix.AddKey("user", "x", []byte("x"), unix.KEY_SPEC_USER_KEYRING)
			return err
		}},
		{"bpf", unix.EPERM, func() error { return call(unix.SYS_BPF, 0, 0, 0) }},
		{"perf", unix.EPERM, func() error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0, 0, 0) }},
		{"userfaultfd", unix.EPERM, func() error { return call(unix.SYS_USERFAULTFD, 1) }},
		{"io_uring", unix.EPERM, func() error { return call(unix.SYS_IO_URING_SETUP, 1, 0) }},
		{"kexec", unix.EPERM, func() error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) }},
		{"module", unix.EPERM, func() error { return call(unix.SYS_INIT_MODULE, 0, 0, 0) }},
		{"reboot", unix.EPERM, func() error { return call(unix.SYS_REBOOT, 0, 0, 0, 0) }},
		{"sethostname", unix.EPERM, func() error { return unix.Sethostname([]byte("x")) }},
		{"settimeofday", unix.EPERM, func() error { return unix.Settimeofday(&unix.Timeval{Sec: 1}) }},
		{"swapon", unix.EPERM, func() error { return call(unix.SYS_SWAPON, str("/dev/null"), 0) }},
		{"quotactl", unix.EPERM, func() error { return call(unix.SYS_QUOTACTL, 0, 0, 0, 0) }},
		{"open_by_handle_at", unix.EPERM, func() error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0) }},
		{"fanotify", unix.EPERM, func() error { return call(unix.SYS_FANOTIFY_INIT, 0x200, 0) }},
		{"personality", unix.EPERM, func() error { return call(unix.SYS_PERSONALITY, 0x0400000) }},
		{"x32", unix.EPERM, func() error { return call(unix.SYS_GETPID | 0x40000000) }},
		{"TIOCSTI", unix.EPERM, func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCSTI, str("x")) }},
		{"TIOCSTI above 32 bits", unix.EPERM, func() error {
			return call(unix.SYS_IOCTL, 0, unix.TIOCSTI|1<<40,
				str("x"))
		}},
		{"TIOCLINUX", unix.EPERM, func() error { return call(unix.SYS_IOCTL, 0, unix.TIOCLINUX, str("\x02")) }},
		{"setuid bit", unix.EPERM, func() error { return unix.Fchmodat(unix.AT_FDCWD, dir, 0o4755, 0) }},
		{"setgid bit", unix.EPERM, func() error { return unix.Chmod(dir, 0o2755) }},
		{"setuid at birth", unix.EPERM, func() error {
			_, err := unix.Open(filepath.Join(dir, "s"), unix.O_CREAT|unix.O_WRONLY, 0o4755)
			return err
		}},
		{"setuid without a name", unix.EPERM, func() error {
			_, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY, 0o4755)
			return err
		}},
		{"setuid by fchmodat2", unix.EPERM, func() error { return call(452, ^uintptr(99), str(dir), 0o4755, 0) }},
		{"setuid by openat2", unix.ENOSYS, func() error {
			_, err := unix.Openat2(unix.AT_FDCWD, filepath.Join(dir, "o"),
				&unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY, Mode: 0o4755})
			return err
		}},
		{"capabilities of a file", 0, func() error {
			return unix.Setxattr("/proc/self/exe", "security.capability", make([]byte, 20), 0)
		}},
		{"become root", 0, func() error { return syscall.Setuid(0) }},
		{"a larger limit", 0, func() error {
			return unix.Setrlimit(unix.RLIMIT_NPROC, &unix.Rlimit{Cur: 1 << 20, Max: 1 << 20})
		}},
		{"core files", 0, func() error { return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: 1, Max: 1}) }},
	}
}

func processAttempts() []attempt {
	var buf [8]byte
	local := unix.Iovec{Base: &buf[0], Len: 8}
	remote := unix.RemoteIovec{Base: uintptr(unsafe.Pointer(&buf[0])), Len: 8}
	all := []attempt{
		{"ptrace", unix.EPERM, func() error { return unix.PtraceAttach(1) }},
		{"ptrace seize", unix.EPERM, func() error { return call(unix.SYS_PTRACE, 0x4206, 1, 0, 0) }},
		{"process_vm_writev", unix.EPERM, func() error {
			_, err := unix.ProcessVMWritev(1, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
			return err
		}},
		{"process_vm_readv", unix.EPERM, func() error {
			_, err := unix.ProcessVMReadv(1, []unix.Iovec{local}, []unix.RemoteIovec{remote}, 0)
			return err
		}},
		{"kcmp", unix.EPERM, func() error { return call(unix.SYS_KCMP, 1, 1, 0, 0, 0) }},
		{"pidfd_getfd", unix.EPERM, func() error { return call(unix.SYS_PIDFD_GETFD, 0, 0, 0) }},
		{"setns", unix.EPERM, func() error { return unix.Setns(0, unix.CLONE_NEWNS) }},
		{"raise priority", 0, func() error { return unix.Setpriority(unix.PRIO_PROCESS, 0, -10) }},
	}
	for _, name := range []string{"environ", "mem", "root/etc/passwd", "cwd/x", "exe", "fd/0", "ns/mnt", "map_files",
		"auxv", "maps"} {
		all = append(all, attempt{"agent's " + name, 0, func() error {
			text, err := os.ReadFile("/proc/1/" + name)
			if err == nil && len(text) == 0 {
				return errors.New("empty")
			}
			return err
		}})
	}
	return all
}

func networkAttempts() []attempt {
	dial := func(network, address string) func() error {
		return func() error {
			c, err := net.DialTimeout(network, address, 2*time.Second)
			if err != nil {
				return err
			}
			defer c.Close()
			if _, err := c.Write([]byte("x")); err != nil {
				return err
			}
			c.SetReadDeadline(time.Now().Add(time.Second))
			_, err = c.Read(make([]byte, 1))
			return err
		}
	}
	socket := func(family, kind, proto int) func() error {
		return func() error { _, err := unix.Socket(family, kind, proto); return err }
	}
	return []attempt{
		{"metadata", 0, dial("tcp", "169.254.169.254:80")},
		{"a public address", 0, dial("tcp", "192.0.2.1:80")},
		{"UDP", 0, dial("udp", "192.0.2.1:53")},
		{"UDP6", 0, dial("udp", "[2001:db8::1]:53")},
		{"docker", 0, dial("unix", "/var/run/docker.sock")},
		{"docker in run", 0, dial("unix", "/run/docker.sock")},
		{"raw", unix.EPERM, socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)},
		{"packet", unix.EPERM, socket(unix.AF_PACKET, unix.SOCK_RAW, 0)},
		{"vsock", unix.EPERM, socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0)},
		{"alg", unix.EPERM, socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0)},
		{"netlink audit", unix.EPERM, socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT)},
		{"bluetooth", unix.EPERM, socket(unix.AF_BLUETOOTH, unix.SOCK_RAW, 0)},
	}
}

// attack is the main function of the test binary in the sandbox. Without
// arguments it makes all attempts and prints those that did not end as they
// should; otherwise it does one thing and fails when it cannot.
func attack(args []string) int {
	if len(args) == 0 {
		bad := 0
		for _, a := range attempts() {
			err := a.do()
			if err == nil || a.want != 0 && !errors.Is(err, a.want) {
				fmt.Printf("%s: %v\n", a.name, err)
				bad++
			}
		}
		fmt.Printf("attempts: %d\n", len(attempts()))
		return bad
	}
	if err := one(args); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

func one(args []string) error {
	switch args[0] {
	case "read":
		text, err := os.ReadFile(args[1])
		fmt.Printf("%s", text)
		return err
	case "dial":
		c, err := net.DialTimeout(args[1], args[2], 2*time.Second)
		if err == nil {
			c.Close()
		}
		return err
	case "kill":
		return killAll()
	case "exchange":
		return unix.Renameat2(unix.AT_FDCWD, args[1], unix.AT_FDCWD, args[2], unix.RENAME_EXCHANGE)
	case "truncate":
		return unix.Truncate(args[1], 0)
	case "link":
		return unix.Linkat(unix.AT_FDCWD, args[1], unix.AT_FDCWD, args[2], 0)
	case "descriptors":
		return descriptors()
	case "int80":
		return int80()
	}
	return fmt.Errorf("no attack %q", args[0])
}

// killAll sends signals to whoever it finds; nobody but itself may die.
func killAll() error {
	for pid := 1; pid < 1<<16; pid++ {
		if unix.Kill(pid, 0) != nil {
			continue
		}
		// A thread answers too: of the agent, or its own.
		if thread, _ := filepath.Glob(fmt.Sprintf("/proc/[1s]*/task/%d", pid)); len(thread) == 0 {
			return fmt.Errorf("process %d is there", pid)
		}
	}
	for sig := unix.Signal(1); sig < 32; sig++ {
		if sig != unix.SIGSTKFLT { // a program in Go cannot but end of it
			unix.Kill(1, sig)
		}
	}
	return nil
}

// descriptors fails when more than the three streams were inherited.
func descriptors() error {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		to, _ := os.Readlink("/proc/self/fd/" + e.Name())
		own := slices.Contains([]string{"0", "1", "2"}, e.Name()) || to == "" ||
			strings.HasPrefix(to, "anon_inode:[event") || strings.HasPrefix(to, "/proc/") ||
			strings.HasPrefix(to, "anon_inode:[pidfd")
		if !own {
			return fmt.Errorf("descriptor %s is %s", e.Name(), to)
		}
	}
	return nil
}

// int80 runs a program that asks for getpid as 32-bit programs do.
func int80() error {
	const source = `
int main(void) { long r; __asm__ volatile("int $0x80" : "=a"(r) : "a"(20)); return r == -1 ? 0 : 1; }`
	cmd := exec.Command("gcc", "-x", "c", "-o", "/tmp/int80", "-")
	cmd.Stdin = bytes.NewBufferString(source)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return exec.Command("/tmp/int80").Run()
}

package main

import (
	"fmt"
	"net"
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attack tries one thing that commands must not be able to do. It prints broke
// when it could, and held and why when it could not.
func attack(args []string) int {
	attacks := map[string]func(string) error{
		"mount":       func(string) error { return unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "") },
		"remount":     func(p string) error { return unix.Mount("", p, "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"umount":      func(p string) error { return unix.Unmount(p, unix.MNT_DETACH) },
		"unshare":     func(string) error { return unix.Unshare(unix.CLONE_NEWUSER) },
		"unshare-mnt": func(string) error { return unix.Unshare(unix.CLONE_NEWNS) },
		"setns":       setns,
		"keyctl":      keyctl,
		"ptrace":      func(string) error { return unix.PtraceAttach(1) },
		"vm-read":     vmRead,
		"kill-agent":  killAgent,
		"mknod":       func(p string) error { return unix.Mknod(p+"/node", unix.S_IFBLK|0o666, 8<<8) },
		"chroot":      func(string) error { return unix.Chroot("/tmp") },
		"setuid":      func(string) error { return unix.Setuid(0) },
		"bpf":         func(string) error { return call(unix.SYS_BPF, 0, 0, 0) },
		"io_uring":    func(string) error { return call(unix.SYS_IO_URING_SETUP, 1, 0, 0) },
		"perf":        func(string) error { return call(unix.SYS_PERF_EVENT_OPEN, 0, 0, 0) },
		"userfault":   func(string) error { return call(unix.SYS_USERFAULTFD, 0, 0, 0) },
		"by-handle":   func(string) error { return call(unix.SYS_OPEN_BY_HANDLE_AT, 0, 0, 0) },
		"read":        func(p string) error { _, err := os.ReadFile(p); return err },
		"write":       func(p string) error { return os.WriteFile(p, []byte("attacked"), 0o644) },
		"remove":      os.Remove,
		"rename":      func(p string) error { return os.Rename(p, p+"2") },
		"list":        list,
		"tcp":         func(a string) error { return dialled("tcp", a) },
		"unix":        func(a string) error { return dialled("unix", a) },
		"udp":         func(a string) error { return dialled("udp", a) },
		"vsock":       func(string) error { return socket(unix.AF_VSOCK) },
		"alg":         func(string) error { return socket(unix.AF_ALG) },
		"packet":      func(string) error { return socket(unix.AF_PACKET) },
		"suid":        func(p string) error { return unix.Chmod(p, 0o4755) },
		"suid-f":      suidByFd,
		"suid-open":   suidByOpen,
		"suid-mknod":  func(p string) error { return unix.Mknod(p+"2", unix.S_IFREG|0o4755, 0) },
		"suid-at2":    suidAt2,
		"suid-32":     func(p string) error { return int80(p) },
	}
	f, ok := attacks[args[0]]
	if !ok {
		fmt.Println("no such attack")
		return 2
	}
	target := ""
	if len(args) > 1 {
		target = args[1]
	}
	if err := f(target); err != nil {
		fmt.Println("held:", err)
		return 0
	}
	fmt.Println("broke")
	return 1
}

func socket(family int) error {
	_, err := unix.Socket(family, unix.SOCK_SEQPACKET, 0)
	if err != unix.EPERM && err != unix.EACCES {
		return nil // it got as far as the kernel's own answer
	}
	return err
}

func call(n, a, b, c uintptr) error {
	if _, _, e := unix.Syscall(n, a, b, c); e != 0 && e != unix.EFAULT && e != unix.EINVAL {
		return e
	}
	return nil
}

func setns(string) error {
	fd, err := unix.Open("/proc/1/ns/mnt", unix.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return unix.Setns(fd, 0)
}

func keyctl(string) error {
	_, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true)
	return err
}

func vmRead(string) error {
	f, err := os.Open("/proc/1/mem")
	if err == nil {
		f.Close()
		return nil
	}
	buf := make([]byte, 8)
	local := []unix.Iovec{{Base: &buf[0], Len: 8}}
	_, err = unix.ProcessVMReadv(1, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	return err
}

// killAgent sends signals to the agent. It holds if the agent lives on; this program cannot see
// that. Some signals end a Go program in any case: they end the sandbox, and nothing else.
func killAgent(string) error {
	for s := unix.Signal(1); s < 65; s++ {
		switch s {
		case unix.SIGTERM, unix.SIGINT, unix.SIGHUP: // the signals that ask the agent to end
		case unix.SIGQUIT, unix.SIGILL, unix.SIGTRAP, unix.SIGABRT, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSYS, unix.SIGSTKFLT:
		default:
			_ = unix.Kill(1, s)
		}
	}
	return fmt.Errorf("sent")
}

func list(dir string) error {
	e, err := os.ReadDir(dir)
	if err == nil && len(e) == 0 {
		return fmt.Errorf("empty")
	}
	return err
}

func dialled(network, addr string) error {
	c, err := net.DialTimeout(network, addr, 3*time.Second)
	if err == nil {
		c.Close()
	}
	return err
}

func suidByFd(p string) error {
	f, err := os.OpenFile(p, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return unix.Fchmod(int(f.Fd()), 0o2755)
}

func suidByOpen(p string) error {
	_, err := unix.Open(p+"3", unix.O_CREAT|unix.O_RDWR, 0o4755)
	return err
}

func suidAt2(p string) error {
	name := append([]byte(p+"4"), 0)
	how := unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: 0o4755}
	at := unix.AT_FDCWD
	_, _, e := unix.Syscall6(unix.SYS_OPENAT2, uintptr(at), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

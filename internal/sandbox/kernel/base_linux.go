package kernel

import (
	"errors"
	"fmt"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// base mounts the parts of every root directory: devices, /proc, and directories in memory that share one size limit.
func (t *tree) base(p plan) error {
	scratch, err := newMemory(p.Temp)
	if err != nil {
		return err
	}
	if err := t.mountAt(scratch, "/.stock/scratch"); err != nil {
		return err
	}
	for _, d := range []struct {
		name, at string
		mode     uint32
	}{
		{"tmp", "/tmp", 0o1777}, {"tmp", "/var/tmp", 0o1777}, {"home", p.Home, 0o700}, {"shm", "/dev/shm", 0o1777},
	} {
		if err := t.share(scratch, d.name, d.at, d.mode); err != nil {
			return fmt.Errorf("%s: %w", d.at, err)
		}
	}
	proc, err := newMount("proc", tame|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	if err := t.mountAt(proc, "/proc"); err != nil {
		return err
	}
	pts, err := newMount("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC,
		option{"newinstance", ""}, option{"ptmxmode", "0666"}, option{"mode", "0620"})
	if err != nil {
		return err
	}
	if err := t.mountAt(pts, "/dev/pts"); err != nil {
		return err
	}
	for at, to := range map[string]string{
		"/dev/ptmx": "pts/ptmx", "/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0",
		"/dev/stdout": "/proc/self/fd/1", "/dev/stderr": "/proc/self/fd/2",
	} {
		if err := t.link(at, to); err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	if err := t.write(etcFiles(p)); err != nil {
		return err
	}
	return t.mask()
}

func (t *tree) mountAt(m int, at string) error {
	fd, err := t.target(at, true)
	if err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	defer unix.Close(fd)
	if err := put(m, fd); err != nil {
		return fmt.Errorf("%s: %w", at, err)
	}
	return nil
}

// share mounts a directory of scratch at another path.
func (t *tree) share(scratch int, name, at string, mode uint32) error {
	if err := unix.Mkdirat(scratch, name, mode); err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	if err := unix.Fchmodat(scratch, name, mode, 0); err != nil {
		return err
	}
	fd, err := unix.Openat(scratch, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	m, err := clone(fd, unix.MountAttr{Attr_set: tame})
	if err != nil {
		return err
	}
	defer unix.Close(m)
	return t.mountAt(m, at)
}

func (t *tree) write(files map[string]string) error {
	for at, text := range files {
		dir, err := t.target(path.Dir(at), true)
		if err != nil {
			return err
		}
		fd, err := unix.Openat(dir, path.Base(at),
			unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC, 0o444)
		unix.Close(dir)
		if err != nil {
			return fmt.Errorf("%s: %w", at, err)
		}
		f := os.NewFile(uintptr(fd), at)
		n, err := f.WriteString(text)
		f.Close()
		if n < len(text) {
			return fmt.Errorf("%s: %w", at, err)
		}
	}
	return nil
}

// mask hides the files in /proc that describe the machine or other processes.
func (t *tree) mask() error {
	for _, name := range []string{
		"acpi", "asound", "bus", "interrupts", "kallsyms", "kcore", "key-users", "keys", "latency_stats", "scsi",
		"sched_debug", "timer_list", "timer_stats",
	} {
		if err := t.hide("/proc/" + name); err != nil {
			return fmt.Errorf("/proc/%s: %w", name, err)
		}
	}
	for _, name := range []string{"fs", "irq", "sys", "sysrq-trigger"} {
		if err := t.lock("/proc/" + name); err != nil {
			return fmt.Errorf("/proc/%s: %w", name, err)
		}
	}
	return nil
}

// devicePaths returns the devices that commands get. Terminals are in a separate devpts.
func devicePaths() []string {
	return []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
}

// etcPaths returns the settings of this machine that programs need and that contain
// no private data.
func etcPaths() []string {
	names := []string{
		"alternatives", "bash.bashrc", "ca-certificates", "ca-certificates.conf",
		"crypto-policies", "fonts", "gai.conf", "gitattributes", "gitconfig", "host.conf",
		"inputrc", "java-8-openjdk", "java-11-openjdk", "java-17-openjdk",
		"java-21-openjdk", "java-25-openjdk", "java", "ld.so.cache", "ld.so.conf", "libreoffice",
		"ld.so.conf.d", "locale.alias", "locale.conf", "localtime", "login.defs", "lsb-release",
		"ImageMagick-6", "ImageMagick-7", "magic", "magic.mime", "maven", "mime.types", "networks", "nix", "os-release",
		"perl", "pki", "profile",
		"profile.d", "protocols", "python3", "python3.11", "python3.12", "python3.13",
		"python3.14", "rpc", "services", "sgml", "shells", "ssl", "static", "terminfo",
		"texmf", "timezone", "vim", "xattr.conf", "xml",
	}
	for i, n := range names {
		names[i] = "/etc/" + n
	}
	return names
}

// etcFiles returns generated files: the users and groups of the sandbox.
func etcFiles(p plan) map[string]string {
	hosts := "127.0.0.1 localhost sandbox\n::1 localhost\n"
	for _, f := range p.Forward {
		if f.Name != "" {
			hosts += f.Listen.Addr().String() + " " + f.Name + "\n"
		}
	}
	user := fmt.Sprintf("sandbox:x:%d:%d::%s:/bin/sh\n", p.UID, p.GID, p.Home)
	return map[string]string{
		"/etc/passwd":        user + "root:x:0:0::/:/bin/false\n",
		"/etc/group":         fmt.Sprintf("sandbox:x:%d:\nroot:x:0:\n", p.GID),
		"/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
		"/etc/hosts":         hosts,
		"/etc/hostname":      hostname + "\n",
		"/etc/resolv.conf":   "",
	}
}

// hostname is the host name within the sandbox.
const hostname = "sandbox"

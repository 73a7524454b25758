package root

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A Root is a directory that nothing leads out of. Its methods may be called
// from many goroutines.
type Root struct {
	dir  *os.File
	path string
}

// Open opens a directory. Links in path itself are followed: whoever chose the
// directory may have chosen it by a link.
func Open(path string) (*Root, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &Root{dir: os.NewFile(uintptr(fd), path), path: path}, nil
}

// StatPath tells of what a path leads to, links followed.
func StatPath(path string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Info{}, pathError("stat", path, err)
	}
	return infoFrom(&st), nil
}

// Path is what the directory was opened as.
func (r *Root) Path() string { return r.path }

// Close lets go of the directory.
func (r *Root) Close() error { return r.dir.Close() }

// Info tells of the directory itself.
func (r *Root) Info() (Info, error) { return Stat(r.dir) }

// OpenFile opens a file. It never waits for the other end of a pipe.
func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := r.open(name, flag|unix.O_NONBLOCK|unix.O_NOCTTY, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// OpenRegular opens a regular file for reading and tells what it is. Anything
// else, such as a pipe or a device, is ErrSpecial and is not touched; so is
// what the kernel makes up, as in /proc.
func (r *Root) OpenRegular(name string) (*os.File, Info, error) {
	info, err := r.Lstat(name)
	if err != nil {
		return nil, info, err
	}
	if info.Link() {
		return nil, info, pathError("open", name, ErrLink)
	}
	if !info.Regular() {
		return nil, info, pathError("open", name, ErrSpecial)
	}
	file, err := r.OpenFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, info, err
	}
	info, err = Stat(file)
	if err == nil && (!info.Regular() || isPseudo(file)) {
		err = pathError("open", name, ErrSpecial)
	}
	if err != nil {
		return nil, info, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// isPseudo reports whether the file system of file is the kernel talking.
func isPseudo(file *os.File) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(int(file.Fd()), &st) != nil {
		return false
	}
	switch st.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.DEVPTS_SUPER_MAGIC:
		return true
	}
	return false
}

// OpenRoot opens a directory beneath r as a root of its own.
func (r *Root) OpenRoot(name string) (*Root, error) {
	fd, err := r.open(name, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return &Root{dir: os.NewFile(uintptr(fd), name), path: r.path + "/" + name}, nil
}

// OpenDir opens a directory to list it; see [os.File.ReadDir].
func (r *Root) OpenDir(name string) (*os.File, error) {
	return r.OpenFile(name, os.O_RDONLY|unix.O_DIRECTORY, 0)
}

// FD is the handle itself, for system calls that this package does not have.
// It lives as long as r does: whoever uses it ends with runtime.KeepAlive(r).
func (r *Root) FD() int { return int(r.dir.Fd()) }

// Lstat tells what name is, and does not follow it.
func (r *Root) Lstat(name string) (Info, error) {
	if !strings.Contains(name, "/") && valid(name) {
		var st unix.Stat_t
		err := unix.Fstatat(r.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		runtime.KeepAlive(r)
		if err != nil {
			return Info{}, translate("stat", name, err)
		}
		return infoFrom(&st), nil
	}
	fd, err := r.open(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd)
	return stat(fd, name)
}

// Readlink returns what a link says.
func (r *Root) Readlink(name string) (string, error) {
	fd, err := r.open(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	buf := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(fd, "", buf)
	if err != nil {
		return "", pathError("readlink", name, err)
	}
	return string(buf[:n]), nil
}

// Mkdir makes one directory.
func (r *Root) Mkdir(name string, perm fs.FileMode) error {
	return r.inParent("mkdir", name, func(fd int, base string) error { return unix.Mkdirat(fd, base, uint32(perm.Perm())) })
}

// Remove removes a file or a link.
func (r *Root) Remove(name string) error {
	return r.inParent("remove", name, func(fd int, base string) error { return unix.Unlinkat(fd, base, 0) })
}

// RemoveDir removes an empty directory.
func (r *Root) RemoveDir(name string) error {
	return r.inParent("remove", name, func(fd int, base string) error { return unix.Unlinkat(fd, base, unix.AT_REMOVEDIR) })
}

// Rename gives a file another name. What has that name already goes.
func (r *Root) Rename(from, to string) error {
	return r.inParent("rename", from, func(fd int, base string) error {
		return r.inParent("rename", to, func(toFD int, toBase string) error { return unix.Renameat(fd, base, toFD, toBase) })
	})
}

// Link gives a file a second name, which must be free.
func (r *Root) Link(from string, to *Root, name string) error {
	return r.inParent("link", from, func(fd int, base string) error {
		return to.inParent("link", name, func(toFD int, toBase string) error { return unix.Linkat(fd, base, toFD, toBase, 0) })
	})
}

// SyncDir makes the names in a directory survive a loss of power.
func (r *Root) SyncDir(name string) error {
	dir, err := r.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// inParent does something with the last step of a name in the directory before it.
func (r *Root) inParent(op, name string, do func(fd int, base string) error) error {
	dir, base := split(name)
	if base == "." {
		return pathError(op, name, ErrName)
	}
	if dir == "." { // no handle more than there is: to clear up must be possible when there are none left
		if !valid(name) {
			return pathError(op, name, ErrName)
		}
		defer runtime.KeepAlive(r)
		return namedIf(op, name, do(r.FD(), base))
	}
	fd, err := r.open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return namedIf(op, name, do(fd, base))
}

func namedIf(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return translate(op, name, err)
}

func (r *Root) open(name string, flag int, perm uint32) (int, error) {
	if !valid(name) {
		return -1, pathError("open", name, ErrName)
	}
	fd, err := openBeneath(r.FD(), name, flag|unix.O_CLOEXEC, perm)
	runtime.KeepAlive(r) // an abandoned root closes its handle when it is collected
	if err != nil {
		return -1, translate("open", name, err)
	}
	return fd, nil
}

// openBeneath opens name relative to a directory and follows no link. Asked
// for O_PATH|O_NOFOLLOW it opens a link itself.
func openBeneath(dir int, name string, flag int, perm uint32) (int, error) {
	how := unix.OpenHow{Flags: uint64(flag), Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS}
	if flag&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN: // something was renamed while the kernel looked
			continue
		case unix.ENOSYS, unix.EPERM: // an old kernel, or a container that does not know the call
			return openBySteps(dir, name, flag, perm)
		}
		return fd, err
	}
}

// openBySteps is openBeneath in one system call for each step.
func openBySteps(dir int, name string, flag int, perm uint32) (int, error) {
	at := dir
	for {
		step, rest, more := strings.Cut(name, "/")
		how := flag | unix.O_NOFOLLOW
		if more {
			how = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		}
		fd, err := unix.Openat(at, step, how, perm)
		if err == unix.ENOTDIR && isLink(at, step) {
			err = unix.ELOOP
		}
		if at != dir {
			unix.Close(at)
		}
		if err != nil || !more {
			return fd, err
		}
		at, name = fd, rest
	}
}

func isLink(dir int, name string) bool {
	var st unix.Stat_t
	return unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK
}

// translate puts our words in place of the kernel's.
func translate(op, name string, err error) error {
	var known *fs.PathError
	if errors.As(err, &known) {
		return err
	}
	switch err {
	case unix.ELOOP, unix.EXDEV:
		if op == "open" {
			err = ErrLink
		}
	case unix.ENXIO: // a pipe without a reader, a socket
		err = ErrSpecial
	}
	return pathError(op, name, err)
}

// Stat tells of an open file.
func Stat(file *os.File) (Info, error) { return stat(int(file.Fd()), file.Name()) }

func stat(fd int, name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return infoFrom(&st), nil
}

func infoFrom(st *unix.Stat_t) Info {
	return Info{
		Mode: modeOf(st.Mode), Size: st.Size, Links: uint64(st.Nlink), Dev: uint64(st.Dev), Ino: st.Ino,
		Modified: time.Unix(st.Mtim.Unix()), Changed: time.Unix(st.Ctim.Unix()), UID: int(st.Uid), GID: int(st.Gid),
	}
}

func modeOf(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		m |= fs.ModeDir
	case unix.S_IFLNK:
		m |= fs.ModeSymlink
	case unix.S_IFIFO:
		m |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= fs.ModeSocket
	case unix.S_IFBLK:
		m |= fs.ModeDevice
	case unix.S_IFCHR:
		m |= fs.ModeDevice | fs.ModeCharDevice
	}
	if mode&unix.S_ISUID != 0 {
		m |= fs.ModeSetuid
	}
	if mode&unix.S_ISGID != 0 {
		m |= fs.ModeSetgid
	}
	if mode&unix.S_ISVTX != 0 {
		m |= fs.ModeSticky
	}
	return m
}

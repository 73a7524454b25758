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

// A Root is a directory that no name leads out of. It is safe for concurrent use.
type Root struct {
	dir  *os.File
	path string
}

// Open opens a directory. It follows symbolic links in path itself.
func Open(path string) (*Root, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	return &Root{dir: os.NewFile(uintptr(fd), path), path: path}, nil
}

// StatPath returns the state of the file at a path. It follows links.
func StatPath(path string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return Info{}, pathError("stat", path, err)
	}
	return InfoOf(&st), nil
}

// Path returns the path given to Open.
func (r *Root) Path() string { return r.path }

// Close closes the handle of the directory.
func (r *Root) Close() error { return r.dir.Close() }

// Info returns the state of the directory itself.
func (r *Root) Info() (Info, error) { return Stat(r.dir) }

// OpenFile opens a file. It does not block on a pipe.
func (r *Root) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	fd, err := r.open(name, flag|unix.O_NONBLOCK|unix.O_NOCTTY, uint32(perm.Perm()))
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// OpenFD is OpenFile for callers that use system calls. It saves the work of package os. The
// caller closes the descriptor.
func (r *Root) OpenFD(name string, flag int) (int, error) { return r.open(name, flag, 0) }

// OpenRegular opens a regular file for reading and returns its state. For
// anything else, such as a pipe or a device, it returns ErrSpecial without opening
// it. Files that the kernel generates, as in /proc, are ErrSpecial, too.
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
	if err == nil && (!info.Regular() || IsPseudo(int(file.Fd()))) {
		err = pathError("open", name, ErrSpecial)
	}
	if err != nil {
		return nil, info, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// IsPseudo reports whether an open file is on a file system such as /proc, where the kernel
// generates the files when they are read.
func IsPseudo(fd int) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch st.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.DEVPTS_SUPER_MAGIC:
		return true
	}
	return false
}

// OpenRoot opens a directory below r as a separate root.
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

// FD returns the directory handle, for system calls that this package does not
// have. It is valid as long as r: the caller ends with runtime.KeepAlive(r).
func (r *Root) FD() int { return int(r.dir.Fd()) }

// Lstat returns the state of a name. It does not follow a link.
func (r *Root) Lstat(name string) (Info, error) {
	if !strings.Contains(name, "/") && valid(name) {
		return r.Glance(name)
	}
	fd, err := r.open(name, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return Info{}, err
	}
	defer unix.Close(fd)
	return stat(fd, name)
}

// Glance returns the state of a name with one system call. It follows links in the
// path of the name, even out of the root, so the result is good only for comparing
// it with an earlier state.
func (r *Root) Glance(name string) (Info, error) {
	var st unix.Stat_t
	err := unix.Fstatat(r.FD(), name, &st, unix.AT_SYMLINK_NOFOLLOW)
	runtime.KeepAlive(r)
	if err != nil {
		return Info{}, translate("stat", name, err)
	}
	return InfoOf(&st), nil
}

// Readlink returns the target of a link.
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

// Mkdir creates one directory.
func (r *Root) Mkdir(name string, perm fs.FileMode) error {
	return r.inParent("mkdir", name, func(fd int, base string) error {
		return unix.Mkdirat(fd, base, uint32(perm.Perm()))
	})
}

// Remove removes a file or a link.
func (r *Root) Remove(name string) error {
	return r.inParent("remove", name, func(fd int, base string) error { return unix.Unlinkat(fd, base, 0) })
}

// RemoveDir removes an empty directory.
func (r *Root) RemoveDir(name string) error {
	return r.inParent("remove", name, func(fd int, base string) error {
		return unix.Unlinkat(fd, base, unix.AT_REMOVEDIR)
	})
}

// Rename renames a file. It replaces a file that has the new name.
func (r *Root) Rename(from, to string) error {
	return r.inParent("rename", from, func(fd int, base string) error {
		return r.inParent("rename", to, func(toFD int, toBase string) error {
			return unix.Renameat(fd, base, toFD, toBase)
		})
	})
}

// Link adds a hard link to a file. The new name must not exist.
func (r *Root) Link(from string, to *Root, name string) error {
	return r.inParent("link", from, func(fd int, base string) error {
		return to.inParent("link", name, func(toFD int, toBase string) error {
			return unix.Linkat(fd, base, toFD, toBase, 0)
		})
	})
}

// SyncDir makes changes of the entries in a directory survive a loss of power.
func (r *Root) SyncDir(name string) error {
	dir, err := r.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// inParent calls do with the directory of a name and the last step of the name.
func (r *Root) inParent(op, name string, do func(fd int, base string) error) error {
	dir, base := split(name)
	if base == "." {
		return pathError(op, name, ErrName)
	}
	if dir == "." { // use no other file descriptor: recovery must work even if none is left
		if !valid(name) {
			return pathError(op, name, ErrName)
		}
		defer runtime.KeepAlive(r)
		return translate(op, name, do(r.FD(), base))
	}
	fd, err := r.open(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return translate(op, name, do(fd, base))
}

func (r *Root) open(name string, flag int, perm uint32) (int, error) {
	if !valid(name) {
		return -1, pathError("open", name, ErrName)
	}
	fd, err := openBeneath(r.FD(), name, flag|unix.O_CLOEXEC, perm)
	runtime.KeepAlive(r) // otherwise the garbage collector may close the handle
	if err != nil {
		return -1, translate("open", name, err)
	}
	return fd, nil
}

// openBeneath opens name relative to a directory and follows no link. With
// O_PATH|O_NOFOLLOW it opens a link itself.
func openBeneath(dir int, name string, flag int, perm uint32) (int, error) {
	how := unix.OpenHow{
		Flags:   uint64(flag),
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	if flag&unix.O_CREAT != 0 {
		how.Mode = uint64(perm)
	}
	for {
		fd, err := unix.Openat2(dir, name, &how)
		switch err {
		case unix.EINTR, unix.EAGAIN: // a directory was renamed during the lookup
			continue
		case unix.ENOSYS, unix.EPERM: // an old kernel, or a container that blocks the call
			return openBySteps(dir, name, flag, perm)
		}
		return fd, err
	}
}

// openBySteps is openBeneath with one system call for each step.
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

// translate turns an error of the kernel into one of this package; nil stays nil.
func translate(op, name string, err error) error {
	var known *fs.PathError
	if err == nil || errors.As(err, &known) {
		return err
	}
	switch err {
	case unix.ELOOP, unix.EXDEV:
		if op == "open" {
			err = ErrLink
		}
	case unix.ENXIO: // a pipe without a reader, or a socket
		err = ErrSpecial
	}
	return pathError(op, name, err)
}

// Stat returns the state of an open file.
func Stat(file *os.File) (Info, error) { return stat(int(file.Fd()), file.Name()) }

func stat(fd int, name string) (Info, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return InfoOf(&st), nil
}

// InfoOf converts the result of a stat system call.
func InfoOf(st *unix.Stat_t) Info {
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

// Exchange exchanges the names of two files in one step. The error is
// errors.ErrUnsupported if the file system cannot do it.
func (r *Root) Exchange(a, b string) error { return r.renameFlags(a, r, b, unix.RENAME_EXCHANGE) }

// RenameNew renames a file. The new name must not exist.
func (r *Root) RenameNew(from, to string) error {
	err := r.renameFlags(from, r, to, unix.RENAME_NOREPLACE)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	if _, err := r.Lstat(to); err == nil {
		return pathError("rename", to, fs.ErrExist)
	}
	return r.Rename(from, to)
}

// Move renames a file to a name below another root. It replaces a file that has
// the new name.
func (r *Root) Move(from string, to *Root, name string) error {
	return r.renameFlags(from, to, name, 0)
}

func (r *Root) renameFlags(from string, other *Root, to string, flags uint) error {
	return r.inParent("rename", from, func(fd int, base string) error {
		return other.inParent("rename", to, func(toFD int, toBase string) error {
			err := unix.Renameat2(fd, base, toFD, toBase, flags)
			if flags != 0 && (err == unix.EINVAL || err == unix.ENOSYS || err == unix.ENOTSUP) {
				return errors.ErrUnsupported
			}
			return err
		})
	})
}

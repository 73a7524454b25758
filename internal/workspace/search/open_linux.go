package search

import (
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A handle is a file that is open for reading.
type handle struct {
	fd   int
	file *os.File // that fd belongs to; nil when it belongs to nobody else
}

func (h handle) readAt(p []byte, off int64) (int, error) {
	for {
		n, err := unix.Pread(h.fd, p, off)
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

func (h handle) close() {
	if h.file != nil {
		_ = h.file.Close()
		return
	}
	_ = unix.Close(h.fd)
}

// An opener opens the files of a root with as few system calls as can be: there
// are tens of thousands. It is for one goroutine.
type opener struct {
	root       *root.Root
	checkLinks LinkCheck
	dir        int // the root's handle
	// The last file system that was met, and whether it keeps files.
	dev    uint64
	realFS bool
}

func newOpener(r *root.Root, gate LinkCheck) *opener {
	return &opener{root: r, checkLinks: gate, dir: r.FD()}
}

// open opens a regular file that may be read, and tells its size. Other files
// are errSkip.
func (o *opener) open(name string) (h handle, size int64, err error) {
	if path.Clean(name) != name {
		return o.openSlow(name)
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS,
	}
	fd, err := unix.Openat2(o.dir, name, &how)
	switch err {
	case nil:
	case unix.ELOOP, unix.EXDEV, unix.ENXIO: // it became a link, or something special
		return h, 0, errSkip
	case unix.ENOENT, unix.ENOTDIR:
		return h, 0, fs.ErrNotExist
	case unix.EACCES:
		return h, 0, err
	default: // a kernel that does not know the call, something renamed meanwhile
		return o.openSlow(name)
	}
	h = handle{fd: fd}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		h.close()
		return h, 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || !o.isRealFS(fd, st.Dev) || st.Nlink > 1 && o.checkLinks != nil && !o.checkLinks(name, infoOf(&st)) {
		h.close()
		return h, 0, errSkip
	}
	return h, st.Size, nil
}

// openSlow is open with more system calls.
func (o *opener) openSlow(name string) (h handle, size int64, err error) {
	f, size, err := o.openRegular(name)
	if err != nil {
		return h, 0, err
	}
	return handle{fd: int(f.Fd()), file: f}, size, nil
}

// isRealFS reports whether a file system keeps files, and does not make them
// up while they are read.
func (o *opener) isRealFS(fd int, dev uint64) bool {
	if dev == o.dev && o.realFS {
		return true
	}
	var st unix.Statfs_t
	if unix.Fstatfs(fd, &st) != nil {
		return false
	}
	switch st.Type {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC,
		unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.DEVPTS_SUPER_MAGIC:
		return false
	}
	o.dev, o.realFS = dev, true
	return true
}

func infoOf(st *unix.Stat_t) root.Info {
	return root.Info{
		Mode: fs.FileMode(st.Mode & 0o777), Size: st.Size, Links: uint64(st.Nlink), Dev: uint64(st.Dev), Ino: st.Ino,
		Modified: time.Unix(st.Mtim.Unix()), Changed: time.Unix(st.Ctim.Unix()), UID: int(st.Uid), GID: int(st.Gid),
	}
}

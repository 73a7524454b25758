package tree

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/workspace/root"
)

// A reader reads directories with system calls. os.File would allocate for each
// name, and stat it.
type reader struct{ buf []byte }

// read calls add for each entry of a directory. The name is valid only during the
// call. Between batches read calls pause, and stops if pause returns an error.
func (d *reader) read(r *root.Root, name string, pause func() error, add func([]byte, fs.FileMode)) error {
	if d.buf == nil {
		d.buf = make([]byte, 64<<10)
	}
	fd, err := r.OpenFD(name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return &unreadError{err}
	}
	defer unix.Close(fd)
	for {
		n, err := unix.Getdents(fd, d.buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return &unreadError{&fs.PathError{Op: "readdir", Path: name, Err: err}}
		}
		if n <= 0 {
			return nil
		}
		entries(fd, d.buf[:n], add)
		if err := pause(); err != nil {
			return err
		}
	}
}

// entries parses the kernel's records: inode, offset, length, type, name.
func entries(fd int, buf []byte, add func([]byte, fs.FileMode)) {
	const lengthAt, typeAt, nameAt = 16, 18, 19
	for len(buf) > nameAt {
		length := int(binary.NativeEndian.Uint16(buf[lengthAt:]))
		if length <= nameAt || length > len(buf) {
			return
		}
		name, kind := buf[nameAt:length], buf[typeAt]
		buf = buf[length:]
		if end := bytes.IndexByte(name, 0); end >= 0 {
			name = name[:end]
		}
		if len(name) == 0 || name[0] == '.' && (len(name) == 1 || len(name) == 2 && name[1] == '.') {
			continue
		}
		if kind == unix.DT_UNKNOWN { // some file systems do not report it
			var st unix.Stat_t
			if unix.Fstatat(fd, string(name), &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue
			}
			kind = byte(st.Mode & unix.S_IFMT >> 12)
		}
		add(name, modeOf(kind))
	}
}

func modeOf(kind byte) fs.FileMode {
	switch kind {
	case unix.DT_REG:
		return 0
	case unix.DT_DIR:
		return fs.ModeDir
	case unix.DT_LNK:
		return fs.ModeSymlink
	case unix.DT_FIFO:
		return fs.ModeNamedPipe
	case unix.DT_SOCK:
		return fs.ModeSocket
	case unix.DT_BLK:
		return fs.ModeDevice
	case unix.DT_CHR:
		return fs.ModeDevice | fs.ModeCharDevice
	}
	return fs.ModeIrregular
}

func notDirectory(err error) bool { return errors.Is(err, unix.ENOTDIR) }

package kernel

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Mounts that nothing can be smuggled in by, and those that are only for reading.
const (
	tame     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly = tame | unix.MOUNT_ATTR_RDONLY
)

// clone makes a mount of what is open at fd, with all that is mounted below it,
// which is nowhere yet. Nothing that happens to it is seen elsewhere.
func clone(fd int, attr unix.MountAttr) (int, error) {
	m, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|
		unix.AT_EMPTY_PATH|unix.AT_RECURSIVE)
	if err != nil {
		return 0, fmt.Errorf("open_tree: %w", err)
	}
	attr.Propagation = unix.MS_PRIVATE
	if err := unix.MountSetattr(m, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		unix.Close(m)
		return 0, fmt.Errorf("mount_setattr: %w", err)
	}
	return m, nil
}

// attributes are those of the mount of a source.
func (s source) attributes() uint64 {
	attr := uint64(readOnly)
	if s.Write {
		attr = tame
	}
	if s.NoLinks {
		attr |= unix.MOUNT_ATTR_NOSYMFOLLOW
	}
	return attr
}

// put mounts m on what is open at fd.
func put(m, fd int) error {
	err := unix.MoveMount(m, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// An option of a file system; one without a value is a flag.
type option struct{ key, value string }

// newMount makes an instance of a file system, which is nowhere yet.
func newMount(kind string, attr int, options ...option) (int, error) {
	fs, err := unix.Fsopen(kind, unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", kind, err)
	}
	defer unix.Close(fs)
	for _, o := range options {
		if o.value == "" {
			err = unix.FsconfigSetFlag(fs, o.key)
		} else {
			err = unix.FsconfigSetString(fs, o.key, o.value)
		}
		if err != nil {
			return 0, fmt.Errorf("%s, %s: %w", kind, o.key, err)
		}
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return 0, fmt.Errorf("%s: %w", kind, err)
	}
	m, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, attr)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", kind, err)
	}
	return m, nil
}

// newMemory makes a directory in memory. size is in bytes, 0 for no limit.
func newMemory(size int64) (int, error) {
	options := []option{{"mode", "0755"}}
	if size > 0 {
		// A file that is empty costs memory too.
		const least, perFile = 4096, 2048
		options = append(options, option{"size", strconv.FormatInt(size, 10)},
			option{"nr_inodes", strconv.FormatInt(max(least, size/perFile), 10)})
	}
	return newMount("tmpfs", tame, options...)
}

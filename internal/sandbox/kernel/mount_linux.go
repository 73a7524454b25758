package kernel

import (
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"
)

// Attributes of mounts without devices and set-user-ID, and of read-only mounts.
const (
	tame     = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	readOnly = tame | unix.MOUNT_ATTR_RDONLY
)

// clone returns a detached copy of the mount at fd, with all mounts below it. Changes
// do not propagate between the copy and other mounts.
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

// attributes returns the mount attributes of a source.
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

// put attaches mount m at fd.
func put(m, fd int) error {
	err := unix.MoveMount(m, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
	if err != nil {
		return fmt.Errorf("move_mount: %w", err)
	}
	return nil
}

// An option is an option of a file system; one without a value is a flag.
type option struct{ key, value string }

// newMount returns a new detached mount of a file system.
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

// newMemory returns a new tmpfs. size is in bytes, 0 for no limit.
func newMemory(size int64) (int, error) {
	options := []option{{"mode", "0755"}}
	if size > 0 {
		// Empty files use memory too.
		const least, perFile = 4096, 2048
		options = append(options, option{"size", strconv.FormatInt(size, 10)},
			option{"nr_inodes", strconv.FormatInt(max(least, size/perFile), 10)})
	}
	return newMount("tmpfs", tame, options...)
}

//go:build !windows

package history

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks file if no process has locked it. Closing the file releases the lock, and
// so does the end of the process. If the file system does not support locks, tryLock
// returns true: then only goroutines exclude each other.
func tryLock(file *os.File) (taken bool, err error) {
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	switch {
	case errors.Is(err, unix.EWOULDBLOCK):
		return false, nil
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.ENOTSUP):
		return true, nil
	}
	return err == nil, err
}

// syncUnsupported reports whether err is nil or means that sync is not supported.
func syncUnsupported(err error) bool {
	return err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}

// copyOwner gives a new file the owner of the one that it replaces, as far as the system
// allows.
func copyOwner(file *os.File, uid, gid int) {
	if uid < 0 || os.Geteuid() != 0 {
		uid = -1
	}
	if gid >= 0 {
		_ = file.Chown(uid, gid)
	}
}

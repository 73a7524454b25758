//go:build !windows

package history

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of file if nobody has it. Closing the file, or the
// death of the process, releases it. Where files cannot be locked it says that
// it has it: then goroutines exclude each other, and processes do not.
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

// syncUnsupported reports whether err only says that there is nothing to make last.
func syncUnsupported(err error) bool {
	return err == nil || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS)
}

// copyOwner gives a new file the owner of the one that it replaces, as far as the
// system allows.
func copyOwner(file *os.File, uid, gid int) {
	if uid < 0 || os.Geteuid() != 0 {
		uid = -1
	}
	if gid >= 0 {
		_ = file.Chown(uid, gid)
	}
}

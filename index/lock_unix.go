//go:build !windows

package index

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the lock of a file if nobody has it. Closing the file, or the
// death of the process, releases it.
func tryLock(file *os.File) (taken bool, err error) {
	err = unix.EINTR
	for errors.Is(err, unix.EINTR) {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

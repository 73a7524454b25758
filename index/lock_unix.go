//go:build !windows

package index

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// tryLock locks a file if no other process has it locked. Closing the file, or
// the end of the process, releases the lock.
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

//go:build unix && !solaris && !aix

package segment

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file into memory. Processes that map the same file share its pages.
func mapFile(file *os.File, size int) ([]byte, func() error, error) {
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: file.Name(), Err: err}
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

// tryLock locks a file if it is not locked, and reports whether it did.
func tryLock(file *os.File) bool {
	for {
		err := unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}

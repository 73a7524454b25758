//go:build unix && !solaris && !aix

package segment

import (
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

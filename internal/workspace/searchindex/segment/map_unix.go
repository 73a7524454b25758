//go:build unix

package segment

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file into memory: its pages are the system's, and several
// processes share them.
func mapFile(file *os.File, size int) ([]byte, func() error, error) {
	data, err := unix.Mmap(int(file.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, &os.PathError{Op: "mmap", Path: file.Name(), Err: err}
	}
	return data, func() error { return unix.Munmap(data) }, nil
}

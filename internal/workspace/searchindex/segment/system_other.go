//go:build !unix || solaris || aix

package segment

import (
	"io"
	"os"
)

// mapFile reads a file.
func mapFile(file *os.File, size int) ([]byte, func() error, error) {
	data := make([]byte, size)
	if _, err := io.ReadFull(file, data); err != nil {
		return nil, nil, err
	}
	return data, func() error { return nil }, nil
}

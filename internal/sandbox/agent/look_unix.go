//go:build unix

package agent

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	namesDiffer    = true // path and PATH are two variables
	relativeIsKept = true // a relative program is looked up in the command's directory
)

func executable(path string, _ []string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "", syscall.EISDIR
	}
	if err := unix.Access(path, unix.X_OK); err != nil {
		return "", &fs.PathError{Op: "run", Path: path, Err: err}
	}
	return path, nil
}

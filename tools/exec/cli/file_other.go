//go:build !unix

package cli

import (
	"errors"
	"fmt"
	"os"
)

func open(name string) (*os.File, error) { return os.Open(name) }

// examine identifies a program's file by its size and time. It does not know the users with the
// right to change the file, so a sha256 should be configured.
func examine(f *os.File) (identity string, err error) {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", errors.New("it is no regular file")
	}
	return fmt.Sprintf("%d bytes, changed %s", info.Size(), info.ModTime().UTC()), nil
}

func checkDir(string) error { return nil }

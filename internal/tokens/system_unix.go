//go:build !windows

package tokens

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// checkDir refuses a directory where anybody can put a table of their own.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("looking at the data directory: %w", err)
	}
	if info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("everybody may write to the data directory %s; run chmod o-w on it, or use another", dir)
	}
	return nil
}

// checkFile refuses a table that others may read or, worse, extend.
func checkFile(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file; remove it")
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("its mode is %#o, so others may use it; run chmod 600 on it after a look at who is in it", perm)
	}
	return nil
}

// syncDir makes a rename in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("writing the table of tokens: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("writing the table of tokens: %w", err)
	}
	return nil
}

package approvals

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/windows"
)

// renameTries is how often a file is put into its place before that counts as
// failed: for a moment, somebody who reads the old one can be in the way.
const renameTries = 50

// tryLock takes an exclusive lock on file if nobody has one.
func tryLock(file *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// checkDir has no modes to go by: the user's own directories are private here.
func checkDir(dir string) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("looking at the directory of approvals: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; remove it", dir)
	}
	return nil
}

package tokens

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes an exclusive lock on file if nobody has one.
func tryLock(file *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// checkDir has nothing to go by: who may write is not in a mode here, and the
// user's own directories are private by default.
func checkDir(string) error { return nil }

// checkFile refuses what is not a file.
func checkFile(info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return errors.New("it is not a regular file; remove it")
	}
	return nil
}

// syncDir has nothing to do: a rename is journalled.
func syncDir(string) error { return nil }

package history

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock locks file if no process has locked it. The lock covers one byte far beyond the
// end, because on Windows a lock prevents others from reading.
func tryLock(file *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// syncUnsupported reports whether err is nil.
func syncUnsupported(err error) bool { return err == nil }

// copyOwner does nothing: a new file inherits the access list of its directory.
func copyOwner(*os.File, int, int) {}

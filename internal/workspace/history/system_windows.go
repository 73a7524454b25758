package history

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock of file if nobody has it. It covers one byte far
// beyond the end, because a lock here keeps others from reading what it covers.
func tryLock(file *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// unsynced reports whether err only says that there is nothing to make last.
func unsynced(err error) bool { return err == nil }

// own has nothing to do: a new file inherits what its directory says.
func own(*os.File, int, int) {}

package private

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// dontWait has nothing to do: what is opened here is a file.
const dontWait = 0

// open has nothing to go by: who may use a file is not in a mode here, and the
// user's own directories are private by default.
func open(fs.FileInfo, fs.FileMode, string, string) string { return "" }

// TryLock takes the lock of file if nobody has it. It covers one byte far
// beyond the end, because a lock here keeps others from reading what it covers.
func TryLock(file *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// SyncDir has nothing to do: a rename is journalled.
func SyncDir(string) error { return nil }

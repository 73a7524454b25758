package private

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// dontWait is not needed: there are no pipes in the file system.
const dontWait = 0

// open always returns "". Windows has no modes, and the directories of a user
// are private by default.
func open(fs.FileInfo, fs.FileMode, string, string) string { return "" }

// TryLock takes the lock of file if it is free. It locks one byte far beyond the
// end, because a locked range cannot be read by other processes.
func TryLock(file *os.File) (taken bool, err error) {
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// SyncDir does nothing, because NTFS journals renames.
func SyncDir(string) error { return nil }

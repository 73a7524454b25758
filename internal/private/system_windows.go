package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// dontWait is not needed: there are no pipes in the file system.
const dontWait = 0

// open always returns "": Windows has no modes. [protect] makes new directories private.
func open(fs.FileInfo, fs.FileMode, string, string) string { return "" }

// protect gives a new directory, and its future content, to its user and the system alone, even if the directory
// above it allows more.
func protect(dir string) error {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return fmt.Errorf("the user of a private directory: %w", err)
	}
	sd, err := windows.SecurityDescriptorFromString("D:P(A;OICI;FA;;;" + user.User.Sid.String() + ")(A;OICI;FA;;;SY)")
	if err != nil {
		return err
	}
	acl, _, err := sd.DACL()
	if err != nil {
		return err
	}
	err = windows.SetNamedSecurityInfo(dir, windows.SE_FILE_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, acl, nil)
	if err != nil {
		return fmt.Errorf("making %s private: %w", dir, err)
	}
	return nil
}

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

// Unlock does nothing: closing the file releases its lock.
func Unlock(*os.File) error { return nil }

// SyncDir does nothing, because NTFS journals renames.
func SyncDir(string) error { return nil }

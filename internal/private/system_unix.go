//go:build !windows

package private

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// dontWait keeps open from blocking if the path is a pipe.
const dontWait = unix.O_NONBLOCK | unix.O_NOCTTY

// open returns a sentence that says how other users can use a file or directory,
// or "" if they cannot.
func open(info fs.FileInfo, others fs.FileMode, use, mode string) string {
	if perm := info.Mode().Perm(); perm&others != 0 {
		return fmt.Sprintf("its mode is %#o, so other users may %s it; check its content, then run chmod %s on it",
			perm, use, mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() && stat.Uid != 0 {
		return fmt.Sprintf("it belongs to user %d, and this program runs as user %d; run the program as its "+
			"owner, or chown it", stat.Uid, os.Geteuid())
	}
	return ""
}

// protect changes nothing: a new directory has its mode.
func protect(string) error { return nil }

// TryLock takes the lock of file if it is free. The lock is released when the
// file is closed or the process dies.
func TryLock(file *os.File) (taken bool, err error) {
	for {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// Unlock releases the lock of file at once. When the file is only closed, a child that another goroutine is just starting may
// have it for a moment longer.
func Unlock(file *os.File) error { return unix.Flock(int(file.Fd()), unix.LOCK_UN) }

// SyncDir writes the names in dir to the disk.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

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

// dontWait keeps a pipe in the place of a file from holding us up.
const dontWait = unix.O_NONBLOCK | unix.O_NOCTTY

// open says in what way others can use something, or "" when they cannot.
func open(info fs.FileInfo, others fs.FileMode, use, mode string) string {
	if perm := info.Mode().Perm(); perm&others != 0 {
		return fmt.Sprintf("its mode is %#o, so others may %s it; run chmod %s on it after a look at what is in it", perm, use, mode)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Sprintf("it belongs to user %d, and this program runs as user %d; run the program as its owner, or chown it", stat.Uid, os.Geteuid())
	}
	return ""
}

// TryLock takes the lock of file if nobody has it. Closing the file, or the
// death of the process, releases it.
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

// SyncDir makes the names in dir survive a power cut.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

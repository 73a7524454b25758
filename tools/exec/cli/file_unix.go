//go:build unix

package cli

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// open opens a file that is not a link, and does not wait for one that is a pipe.
func open(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
}

// examine returns the identity of a program's file, if only the superuser and
// ourselves can change it.
func examine(f *os.File) (identity string, err error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return "", errors.New("its file cannot be looked at")
	}
	switch {
	case s.Mode&unix.S_IFMT != unix.S_IFREG:
		return "", errors.New("it is no regular file")
	case s.Mode&0o111 == 0:
		return "", errors.New("its file cannot be executed")
	case s.Mode&(unix.S_ISUID|unix.S_ISGID) != 0:
		return "", errors.New("its file runs as another user (setuid)")
	}
	if err := ours(s, "its file"); err != nil {
		return "", err
	}
	return fmt.Sprintf("device %d, inode %d, %d bytes, changed %s", uint64(s.Dev), uint64(s.Ino), s.Size,
		time.Unix(s.Ctim.Unix()).UTC().Format(time.RFC3339Nano)), nil
}

// checkDir refuses a directory if other users can replace files in it.
func checkDir(name string) error {
	var s unix.Stat_t
	if err := unix.Lstat(name, &s); err != nil {
		return errors.New("there is no such file")
	}
	return ours(s, "a directory of its path")
}

// ours refuses files of other users, and files that other users can write.
func ours(s unix.Stat_t, what string) error {
	if s.Uid != 0 && s.Uid != uint32(os.Geteuid()) {
		return errors.New(what + " belongs to another user")
	}
	if s.Mode&0o022 != 0 {
		return errors.New(what + " can be changed by others")
	}
	return nil
}

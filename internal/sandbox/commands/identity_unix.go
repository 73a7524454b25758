//go:build !windows

package commands

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// fileIdentity returns a string that changes if the file is written to or replaced. It uses the
// change time: no program can set it.
func fileIdentity(path string, _ fs.FileInfo) string {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return ""
	}
	sec, nsec := s.Ctim.Unix()
	return fmt.Sprintf("%d:%d:%d:%d.%d", uint64(s.Dev), uint64(s.Ino), s.Size, sec, nsec)
}

//go:build !windows

package commands

import (
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"
)

// fileIdentity tells the file at a path from another in its place, and from
// itself when it was written to: the time of the last change cannot be set.
func fileIdentity(path string, _ fs.FileInfo) string {
	var s unix.Stat_t
	if err := unix.Stat(path, &s); err != nil {
		return ""
	}
	sec, nsec := s.Ctim.Unix()
	return fmt.Sprintf("%d:%d:%d:%d.%d", uint64(s.Dev), uint64(s.Ino), s.Size, sec, nsec)
}

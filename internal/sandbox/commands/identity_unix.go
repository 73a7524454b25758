//go:build !windows

package commands

import (
	"fmt"
	"io/fs"
	"syscall"
)

// fileIdentity tells a file from another in its place, and from itself when it
// was written to.
func fileIdentity(info fs.FileInfo) string {
	var device, inode uint64
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		device, inode = uint64(stat.Dev), stat.Ino
	}
	return fmt.Sprintf("%d:%d:%d:%d", device, inode, info.Size(), info.ModTime().UnixNano())
}

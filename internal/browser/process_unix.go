//go:build !windows

package browser

import (
	"io/fs"
	"os"
	"syscall"
)

// openNonblock prevents that opening a named pipe blocks.
const openNonblock = syscall.O_NONBLOCK

// ownedByUser reports whether a file belongs to the user of this process.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

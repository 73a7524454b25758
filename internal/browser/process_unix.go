//go:build !windows

package browser

import (
	"io/fs"
	"os"
	"syscall"
)

// openNonblock keeps what is no file from holding us up.
const openNonblock = syscall.O_NONBLOCK

// ownedByUser reports whether a file belongs to whom this program runs as.
func ownedByUser(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

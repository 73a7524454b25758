//go:build !windows

package browser

import (
	"io/fs"
	"os"
	"syscall"
)

// dontWait keeps what is no file from holding us up.
const dontWait = syscall.O_NONBLOCK

// ours reports whether a file belongs to whom this program runs as.
func ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

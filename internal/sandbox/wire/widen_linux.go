package wire

import (
	"os"
	"syscall"
)

// Widen lets a pipe hold 1 MiB instead of 64 KiB, so that its two ends wait less
// often for each other. Where the system does not allow it the pipe stays as it is.
func Widen(pipe *os.File) {
	const setPipeSize = 1031 // F_SETPIPE_SZ; package syscall lacks it
	_, _, _ = syscall.Syscall(syscall.SYS_FCNTL, pipe.Fd(), setPipeSize, 1<<20)
}

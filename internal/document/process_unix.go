//go:build unix

package document

import (
	"os"

	"golang.org/x/sys/unix"
)

// endGroup kills the programs that this process has started, and the process itself, if it
// leads its process group. The first process of a sandbox ends all others anyway.
func endGroup() {
	if os.Getpid() != 1 && unix.Getpgrp() == os.Getpid() {
		_ = unix.Kill(-os.Getpid(), unix.SIGKILL)
	}
}

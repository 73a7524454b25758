package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA

	MaxTyped = 1022 // the kernel drops the rest
)

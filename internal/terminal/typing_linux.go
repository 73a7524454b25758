package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS

	MaxTyped = 4094 // the kernel drops the rest
)

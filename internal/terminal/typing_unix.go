//go:build linux || darwin

package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// HideTyping stops a terminal from showing typed characters, except for line breaks, until show
// is called.
func HideTyping(terminal *os.File) (show func() error, err error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, err
	}
	quiet := *before
	quiet.Lflag &^= unix.ECHO
	quiet.Lflag |= unix.ECHONL | unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, setTermios, &quiet); err != nil {
		return nil, err
	}
	return func() error { return unix.IoctlSetTermios(fd, setTermios, before) }, nil
}

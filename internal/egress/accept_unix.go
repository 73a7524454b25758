//go:build unix

package egress

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isTemporary tells errors of accepting that are over in a moment.
func isTemporary(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ECONNABORTED) ||
		errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

//go:build unix

package egress

import (
	"errors"

	"golang.org/x/sys/unix"
)

// isTemporary reports whether an error of Accept may go away soon.
func isTemporary(err error) bool {
	return errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) || errors.Is(err, unix.ECONNABORTED) ||
		errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)
}

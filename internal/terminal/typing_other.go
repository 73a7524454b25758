//go:build !linux && !darwin && !windows

package terminal

import (
	"errors"
	"os"
)

const MaxTyped = 1022

// HideTyping is not supported on this system.
func HideTyping(*os.File) (show func() error, err error) { return nil, errors.ErrUnsupported }

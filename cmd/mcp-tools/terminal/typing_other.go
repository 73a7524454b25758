//go:build !linux && !darwin && !windows

package terminal

import (
	"errors"
	"os"
)

const MaxTyped = 1022

// HideTyping does not know this system's terminals.
func HideTyping(*os.File) (show func() error, err error) { return nil, errors.ErrUnsupported }

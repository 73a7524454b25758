//go:build !linux && !darwin && !windows

package main

import (
	"errors"
	"os"
)

const longestTyped = 1022

// hideTyping does not know this system's terminals.
func hideTyping(*os.File) (show func() error, err error) { return nil, errors.ErrUnsupported }

//go:build !linux && !darwin

package main

import "errors"

// diskOf is not known here: the systems differ too much.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

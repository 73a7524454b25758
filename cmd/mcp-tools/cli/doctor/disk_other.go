//go:build !linux && !darwin

package doctor

import "errors"

// diskOf is not supported on this system.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

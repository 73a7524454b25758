//go:build !linux && !darwin

package doctor

import "errors"

// diskOf is not known here: the systems differ too much.
func diskOf(string) (disk, error) { return disk{}, errors.ErrUnsupported }

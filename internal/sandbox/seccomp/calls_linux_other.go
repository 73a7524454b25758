//go:build linux && !amd64 && !arm64

package seccomp

import "errors"

// Supported reports whether there are rules for this processor.
const Supported = false

var errUnsupported = errors.New("the system calls of this processor are not known")

// Install fails.
func Install(bool, bool) error { return errUnsupported }

// InstallInContainer fails.
func InstallInContainer() error { return errUnsupported }

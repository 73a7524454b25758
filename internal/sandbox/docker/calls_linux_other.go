//go:build linux && !amd64 && !arm64

package docker

// modeCalls returns nothing: the system calls of this processor are not known.
func modeCalls() (arch uint32, calls []modeCall) { return 0, nil }

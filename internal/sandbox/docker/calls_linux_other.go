//go:build linux && !amd64 && !arm64

package docker

// modeCalls are not known for this processor.
func modeCalls() (arch uint32, calls []modeCall) { return 0, nil }

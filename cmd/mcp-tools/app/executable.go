package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Executable returns the path by which this program was started, so that an entry
// in a client's settings survives an upgrade that changes the target of a link.
func Executable() (string, error) {
	real, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	named, err := exec.LookPath(os.Args[0])
	if err != nil {
		return real, nil
	}
	if named, err = filepath.Abs(named); err != nil || !sameFile(named, real) {
		return real, nil
	}
	return named, nil
}

func sameFile(x, y string) bool {
	a, err := os.Stat(x)
	if err != nil {
		return false
	}
	b, err := os.Stat(y)
	return err == nil && os.SameFile(a, b)
}

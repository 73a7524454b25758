package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// Executable is the path of this program by which it was started, so that an
// entry survives an upgrade that changes where a link points.
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

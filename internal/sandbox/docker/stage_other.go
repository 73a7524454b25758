//go:build !linux

package docker

import (
	"fmt"
	"os"
)

// Stage fails: containers are started on Linux only.
func Stage([]string) int {
	fmt.Fprintln(os.Stderr, "containers are for Linux")
	return 1
}

//go:build !linux

package docker

import (
	"fmt"
	"os"
)

// Stage is what the first process of a container does, which is on Linux.
func Stage([]string) int {
	fmt.Fprintln(os.Stderr, "containers are for Linux")
	return 1
}

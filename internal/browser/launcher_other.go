//go:build !linux

package browser

import (
	"context"
	"fmt"
	"os"
)

// LauncherArg is the first argument of this program when it runs as a launcher, which is
// used on Linux only.
const LauncherArg = "browser-stage"

// RunLauncher fails: there are no namespaces on this system.
func RunLauncher([]string) int {
	fmt.Fprintln(os.Stderr, "browsers are isolated on Linux only")
	return 1
}

// CheckIsolation returns nil: browsers are not isolated on this system, so no requirement
// can be missing.
func CheckIsolation(context.Context) error { return nil }

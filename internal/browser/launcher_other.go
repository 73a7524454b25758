//go:build !linux

package browser

import (
	"context"
	"fmt"
	"os"
)

// LauncherArg is the first argument of this program that makes it a stage, which it
// is on Linux only.
const LauncherArg = "browser-stage"

// RunLauncher fails: there are no namespaces on this system.
func RunLauncher([]string) int {
	fmt.Fprintln(os.Stderr, "browsers are kept apart on Linux only")
	return 1
}

// CheckIsolation returns nil: this system does not keep browsers apart from its network, so
// there is nothing that could be missing.
func CheckIsolation(context.Context) error { return nil }

//go:build !linux

package browser

import (
	"context"
	"fmt"
	"os"
)

// StageArg is the first argument of this program that makes it a stage, which it
// is on Linux only.
const StageArg = "browser-stage"

// Stage refuses: there are no namespaces on this system.
func Stage([]string) int {
	fmt.Fprintln(os.Stderr, "browsers are kept apart on Linux only")
	return 1
}

// Apart is nil: this system does not keep browsers apart from its network, so
// there is nothing that could be missing.
func Apart(context.Context) error { return nil }

// Package child runs a part of this program in a process of its own, for work with
// untrusted input: it cannot harm the server, and ends with it. Where the kernel
// sandbox works the process has no network and sees no files but those it was given.
//
// Begin with [Start]. The process calls [Limit] first.
package child

import (
	"context"
	"crypto/rand"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// Start starts this program with the arguments. It sees the binds. The link is its stdin and
// stdout; closing it ends the process. In the kernel sandbox HOME is an empty directory of its
// own, in memory if there are namespaces; the memory limit holds for it too.
func Start(ctx context.Context, tiers sandbox.Tiers, args []string, memory int64, binds ...sandbox.Bind) (sandbox.Link, error) {
	tier, _, err := tiers.Choose(ctx, sandbox.Local)
	if err != nil {
		return nil, err
	}
	return tier.Launch(ctx, sandbox.Spec{
		ID: "child-" + rand.Text()[:12], Child: args, Binds: binds, Home: tier.Layout(sandbox.Directories{}).Home,
		Limits: sandbox.Limits{Memory: memory, Temp: memory},
	})
}

// IsOutOfMemory reports whether the error of a link means that the process needed too much
// memory.
func IsOutOfMemory(err error) bool {
	return err != nil &&
		(strings.Contains(err.Error(), "cannot allocate memory") || strings.Contains(err.Error(), "out of memory"))
}

// Limit bounds the memory of this process, in bytes. A process that needs more ends; its stderr
// has the reason, and [IsOutOfMemory] recognizes it.
func Limit(memory int64) error {
	debug.SetMemoryLimit(memory / 4 * 3)
	return limitData(memory)
}

// Yield gives the thread of the calling goroutine a lower priority, so that other processes run
// before its computation.
func Yield() {
	runtime.LockOSThread()
	_ = lowerPriority() // a sandbox may not allow it; then it competes with them
}

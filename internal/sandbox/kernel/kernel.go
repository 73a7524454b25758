// Package kernel starts agents in sandboxes that use only the Linux kernel: no daemon,
// no image, nothing to install.
//
// It starts this program again as a stage, in its own namespaces. The stage assembles a root
// directory that contains only the permitted paths, drops all capabilities, installs Landlock
// and seccomp rules, and executes the agent. Where the kernel does not permit namespaces, as in
// most containers, only Landlock and seccomp apply, and the finding describes the missing
// guarantees.
//
// Landlock rules are installed by go-landlock. It restricts all threads of the stage in place
// of one: about 1 ms of processor time more, in a start of 20 ms. Its BestEffort is not used:
// it would weaken the rules silently.
//
// The package knows mounts, rights and system calls. It knows neither commands nor callers.
// Begin with [Launcher] for the server's side, and with [Main] for the stage.
package kernel

import (
	"os"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	// StageArg is the first argument that makes this program a stage.
	StageArg = "sandbox-kernel"
	// agentArg is the argument that makes it an agent.
	agentArg = "sandbox-agent"
	// home is the home directory of commands in their root directory.
	home = "/home/sandbox"
)

// A Launcher starts agents in kernel sandboxes. Its zero value is ready to use.
type Launcher struct {
	mu    sync.Mutex
	found *finding // the result of the probe; nil before
	ids   identities
}

var _ sandbox.Launcher = (*Launcher)(nil)

// Name returns kernel.
func (*Launcher) Name() string { return sandbox.Kernel }

// self returns the running file, even if its name belongs to another file now.
func self() string {
	const running = "/proc/self/exe"
	if _, err := os.Stat(running); err == nil {
		return running
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}

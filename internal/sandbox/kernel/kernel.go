// Package kernel puts agents behind walls that the Linux kernel alone can
// build: no daemon, no image, nothing installed.
//
// It starts this program again as a stage, in namespaces of its own. The stage
// assembles a root directory of nothing but what is let in, gives up every
// right, lets Landlock and seccomp hold it there, and becomes the agent. Where
// the kernel refuses namespaces, as in most containers, Landlock and seccomp
// stand alone, and the finding says what is then not kept.
//
// It knows mounts, rights and system calls. It does not know what commands are
// or who may run them. Begin with [Launcher] for the near side, and with
// [Main], which is the stage, for the far side.
package kernel

import (
	"os"
	"sync"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

const (
	name = "kernel"
	// StageArg is the first argument of this program that makes it a stage.
	StageArg = "sandbox-kernel"
	// agentArg makes it an agent.
	agentArg = "sandbox-agent"
	// home is where commands find theirs within a root of their own.
	home = "/home/sandbox"
)

// A Launcher starts agents behind walls of the kernel. Its zero value is ready.
type Launcher struct {
	// Self is how this program is started again; the default is the running
	// file without arguments.
	Self []string

	mu    sync.Mutex
	found *finding // what the probe found, once it has
	ids   identities
}

var _ sandbox.Launcher = (*Launcher)(nil)

// Name is kernel.
func (*Launcher) Name() string { return name }

func (l *Launcher) self() []string {
	if len(l.Self) > 0 {
		return l.Self
	}
	return []string{self()}
}

// self is the running file, even when another has taken its name.
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

package docker

import (
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/seccomp"
)

// Stage runs as the first process of a container: it installs a seccomp filter and executes the
// agent. The engine lets a command set the set-user-ID bit of its files; the filter does not.
// In a workspace these files belong to the user of the server, so another user of the machine
// could run them and get that user's rights.
func Stage(args []string) int {
	runtime.LockOSThread() // the filter applies to this thread; it executes the agent
	if err := os.Mkdir(home, 0o700); err != nil {
		fmt.Fprintln(os.Stderr, "the sandbox cannot make a home for commands:", err)
		return 1
	}
	if err := forbid(); err != nil {
		fmt.Fprintln(os.Stderr, "the sandbox cannot forbid system calls:", err)
		return 1
	}
	argv := append([]string{"mcp-tools", "sandbox-agent"}, args...)
	fmt.Fprintln(os.Stderr, "the sandbox cannot start the agent:", syscall.Exec("/proc/self/exe", argv, os.Environ()))
	return 1
}

func forbid() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return seccomp.InstallInContainer()
}

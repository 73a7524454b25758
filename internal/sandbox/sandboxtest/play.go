// Package sandboxtest makes a test binary the program that is started again in and around sandboxes. A test begins with
// [Play] in TestMain.
package sandboxtest

import (
	"os"
	"syscall"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/kernel"
)

// Play plays a role and exits with its code, if the first argument of the test binary names one: the stage of the kernel
// sandbox, the agent, or a role of the test. A role gets the other arguments.
func Play(roles map[string]func(args []string) int) {
	if len(os.Args) < 2 {
		return
	}
	role := roles[os.Args[1]]
	switch os.Args[1] {
	case kernel.StageArg:
		role = kernel.Main
	case agent.Name:
		role = agent.Main
	}
	if role != nil {
		syscall.Exit(role(os.Args[2:])) // the race detector would make os.Exit wait for a second
	}
}

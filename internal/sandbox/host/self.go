package host

import (
	"os"
	"runtime"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
)

// self returns the command line of an agent. On Linux it is the running program,
// even if its file was replaced.
func (l Launcher) self() ([]string, error) {
	if len(l.Self) > 0 {
		return l.Self, nil
	}
	if runtime.GOOS == "linux" {
		return []string{"/proc/self/exe", agent.Name}, nil
	}
	path, err := os.Executable()
	return []string{path, agent.Name}, err
}

package kernel

import (
	"os"
	"slices"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// A link is the connection to an agent. In a PID namespace the agent is the init process.
type link struct {
	*sandbox.AgentProcess
	holds []sandbox.Guarantee
	group *cgroup
	home  string
}

// Close ends the agent and its descendants, with a kill after a timeout, and removes
// the files that were made for them.
func (k *link) Close() error {
	k.AgentProcess.Close(func() {
		k.group.remove()
		if k.home != "" {
			os.RemoveAll(k.home)
		}
	})
	return nil
}

func (k *link) Guarantees() []sandbox.Guarantee { return slices.Clone(k.holds) }

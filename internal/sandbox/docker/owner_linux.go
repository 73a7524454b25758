package docker

import (
	"os"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
)

// thisMachine identifies the current boot of the machine and the PID namespace.
func thisMachine() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	space, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + "." + strings.Trim(strings.TrimPrefix(space, "pid:"), "[]")
}

func started(pid int) string { return sandbox.StartTime(pid) }

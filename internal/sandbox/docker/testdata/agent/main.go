// This program is the first process of containers in tests. It does the same there as
// mcp-tools, and nothing else.
package main

import (
	"fmt"
	"os"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/agent"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/docker"
)

func main() {
	if len(os.Args) < 2 {
		os.Exit(2)
	}
	switch os.Args[1] {
	case docker.StageArg:
		os.Exit(docker.Stage(os.Args[2:]))
	case "sandbox-agent":
		os.Exit(agent.Main(os.Args[2:]))
	case "attack":
		os.Exit(attack(os.Args[2:]))
	}
	fmt.Fprintln(os.Stderr, "what?")
	os.Exit(2)
}

package exec

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/sandbox/commands"
)

// Where describes in one sentence the isolation of commands under a policy, and its consequences. advice is how to
// get a sandbox, or a better one; "" for nothing.
func Where(ctx context.Context, tiers sandbox.Tiers, p commands.Policy, network string) (sentence, advice string) {
	return where(ctx, tiers, p, network, runtime.GOOS)
}

func where(ctx context.Context, tiers sandbox.Tiers, p commands.Policy, network, system string) (sentence, advice string) {
	if p.Mode == commands.Off {
		return "are disabled", ""
	}
	t, _, err := tiers.Choose(ctx, string(p.Mode), p.Require...)
	switch {
	case err != nil:
		return fmt.Sprintf("are refused: no sandbox (%s) isolates %s", p.Mode, isolation(p.Require)), howToGet(system)
	case !t.Isolates() && system == "windows":
		return "run on the host without isolation: as this user, with its files and network; Windows ends them with the server " +
			"and limits their memory", howToGet(system)
	case !t.Isolates():
		return "run on the host without isolation: as this user, with its files and network", howToGet(system)
	}
	f := t.Probe(ctx)
	if !f.Proxy {
		network = "off, because a proxy does not work there"
	}
	return fmt.Sprintf("run in %s: it isolates %s; network: %s", title(t.Name()), isolation(f.Guarantees), network), ""
}

// howToGet says how to get a sandbox on a system.
func howToGet(system string) string {
	const docker = "set sandbox.docker.image to use Docker"
	switch system {
	case "darwin":
		return "macOS has one, sandbox-exec, which needs nothing (sandbox.mode auto); if it does not work, " + docker
	case "windows":
		return "install Docker Desktop and " + docker + "; --sandbox host runs commands without isolation"
	}
	return "allow user namespaces, or " + docker + "; mcp-tools doctor shows the reason"
}

// title names a sandbox for a person.
func title(tier string) string {
	switch tier {
	case sandbox.Docker:
		return "the sandbox docker, a container"
	case sandbox.Kubernetes:
		return "the sandbox kubernetes, a pod"
	case sandbox.Kernel:
		return "the sandbox kernel, of Linux"
	case sandbox.Seatbelt:
		return "the sandbox seatbelt, of macOS"
	}
	return "the sandbox " + tier
}

func isolation(list []sandbox.Guarantee) string {
	if len(list) == 0 {
		return "nothing"
	}
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = string(p)
	}
	return strings.Join(words, ", ")
}
